#version 450
// Control points of a plain.
layout(location = 0) in vec3 position;

void main() {
    gl_Position = vec4(30.0 * position, 1.0);
}
