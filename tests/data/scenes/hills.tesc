#version 450
// Each edge is divided by its distance from the eye, so that neighbours agree.
layout(vertices = 4) out;
layout(push_constant) uniform Scene {
    mat4 view_projection;
    vec4 eye;
};

float factor(int a, int b) {
    vec3 middle = (gl_in[a].gl_Position.xyz + gl_in[b].gl_Position.xyz) * 0.5;
    return clamp(160.0 / distance(middle, eye.xyz), 2.0, 48.0);
}

void main() {
    gl_out[gl_InvocationID].gl_Position = gl_in[gl_InvocationID].gl_Position;
    if (gl_InvocationID == 0) {
        gl_TessLevelOuter[0] = factor(0, 2);
        gl_TessLevelOuter[1] = factor(0, 1);
        gl_TessLevelOuter[2] = factor(1, 3);
        gl_TessLevelOuter[3] = factor(2, 3);
        gl_TessLevelInner[0] = max(gl_TessLevelOuter[1], gl_TessLevelOuter[3]);
        gl_TessLevelInner[1] = max(gl_TessLevelOuter[0], gl_TessLevelOuter[2]);
    }
}
