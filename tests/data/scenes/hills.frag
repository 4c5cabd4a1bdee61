#version 450
// Grass, rock and snow by slope and height, a low sun, and haze by the way to the eye.
layout(location = 0) in vec3 at;
layout(location = 1) in vec3 normal;
layout(location = 0) out vec4 color;
layout(push_constant) uniform Scene {
    mat4 view_projection;
    vec4 eye;
};

void main() {
    vec3 n = normalize(normal);
    vec3 sun = normalize(vec3(-0.6, 0.45, 0.35));
    float steep = 1.0 - n.y;
    vec3 ground = mix(vec3(0.10, 0.16, 0.05), vec3(0.20, 0.17, 0.13), smoothstep(0.12, 0.3, steep));
    ground = mix(ground, vec3(0.85, 0.88, 0.95), smoothstep(0.1, 1.2, at.y) * (1.0 - smoothstep(0.15, 0.4, steep)));
    vec3 light = vec3(1.7, 1.4, 1.05) * max(dot(n, sun), 0.0) + vec3(0.22, 0.3, 0.42) * (0.5 + 0.5 * n.y);
    float way = distance(at, eye.xyz);
    vec3 haze = vec3(0.55, 0.62, 0.75);
    color = vec4(mix(haze, ground * light, exp(-0.03 * way)), 1.0);
}
