#version 450
// A blade of grass for each point: a curve that the wind bends, with waves that run up it. It has three pairs of
// vertices and a tip.
layout(points) in;
layout(triangle_strip, max_vertices = 7) out;
layout(location = 0) in vec4 root[];

layout(push_constant) uniform Field {
    mat4 view_projection;
    // Direction over the ground, strength, time.
    vec4 wind;
};
out gl_PerVertex {
    vec4 gl_Position;
};
layout(location = 0) out vec3 normal;
layout(location = 1) out vec2 uv;

vec3 points[3];
vec3 side;
float width, phase;

void blade(float t, float across) {
    float s = 1.0 - t;
    vec3 at = s * s * points[0] + 2.0 * s * t * points[1] + t * t * points[2];
    vec3 along = 2.0 * s * (points[1] - points[0]) + 2.0 * t * (points[2] - points[1]);
    vec2 wave = 0.3 * wind.z * wind.xy;
    float swing = phase + 4.0 * t;
    at.xz += wave * (t * t * sin(swing));
    along.xz += wave * (2.0 * t * sin(swing) + 4.0 * t * t * cos(swing));
    gl_Position = view_projection * vec4(at + side * (width * s * across), 1.0);
    normal = normalize(cross(along, side) + 0.4 * across * side);
    uv = vec2(0.5 + 0.5 * across, t);
    EmitVertex();
}

void main() {
    float own = root[0].w, angle = own * 6.2831853;
    vec2 facing = vec2(cos(angle), sin(angle));
    float height = 0.6 + 0.4 * fract(own * 7.0);
    float sway = wind.z * (sin(dot(root[0].xz, wind.xy) + wind.w) + 0.5 * sin(2.3 * wind.w + own * 11.0));
    vec2 bend = facing * (0.3 * height) + wind.xy * sway;
    points[0] = root[0].xyz;
    points[1] = points[0] + vec3(0.0, 0.7 * height, 0.0);
    points[2] = points[0] + vec3(bend.x, height * inversesqrt(1.0 + dot(bend, bend)), bend.y);
    side = vec3(-facing.y, 0.0, facing.x);
    phase = 3.1 * wind.w - own * 5.0;
    width = 0.03 + 0.02 * fract(own * 3.0);
    blade(0.0, -1.0);
    blade(0.0, 1.0);
    blade(0.33, -1.0);
    blade(0.33, 1.0);
    blade(0.67, -1.0);
    blade(0.67, 1.0);
    blade(1.0, 0.0);
}
