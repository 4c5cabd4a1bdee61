#version 450
// Heights of some octaves of noise, with the slope that they have.
layout(quads, fractional_odd_spacing, cw) in;
layout(push_constant) uniform Scene {
    mat4 view_projection;
    vec4 eye;
};
layout(location = 0) out vec3 at;
layout(location = 1) out vec3 normal;

// A random number for each place of the grid.
float hash(ivec2 cell) {
    uint n = uint(cell.x) * 0x9e3779b1u ^ uint(cell.y) * 0x85ebca77u;
    n = (n ^ (n >> 15)) * 0x2c1b3c6du;
    n = (n ^ (n >> 12)) * 0x297a2d39u;
    return float(n >> 8) / 16777216.0;
}

// Noise of the grid, and how it grows in both directions.
vec3 noise(vec2 p) {
    ivec2 cell = ivec2(floor(p));
    vec2 f = fract(p);
    vec2 u = f * f * f * (f * (f * 6.0 - 15.0) + 10.0);
    vec2 du = 30.0 * f * f * (f * (f - 2.0) + 1.0);
    float a = hash(cell), b = hash(cell + ivec2(1, 0)), c = hash(cell + ivec2(0, 1)), d = hash(cell + ivec2(1, 1));
    float value = mix(mix(a, b, u.x), mix(c, d, u.x), u.y);
    return vec3(value, du * vec2(mix(b - a, d - c, u.y), mix(c - a, d - b, u.x)));
}

void main() {
    vec2 t = gl_TessCoord.xy;
    vec4 p = mix(mix(gl_in[0].gl_Position, gl_in[1].gl_Position, t.x),
                 mix(gl_in[2].gl_Position, gl_in[3].gl_Position, t.x), t.y);
    float height = 0.0, scale = 0.35, size = 1.6;
    vec2 slope = vec2(0.0), place = p.xz * 0.35;
    for (int octave = 0; octave < 8; octave++) {
        vec3 n = noise(place * scale + 17.0 * float(octave));
        // Where it is steep already, smaller octaves count less: valleys stay smooth.
        float weight = size / (1.0 + dot(slope, slope));
        height += weight * n.x;
        slope += weight * scale * n.yz;
        scale *= 2.1;
        size *= 0.45;
    }
    at = vec3(p.x, height * 2.6 - 4.4, p.z);
    normal = vec3(-slope.x, 1.0, -slope.y);
    gl_Position = view_projection * vec4(at, 1.0);
}
