#version 450
// The slice and the viewport that the vertices chose, each one more than it is.
layout(location = 0) out vec4 color;

void main() {
    color = vec4(gl_Layer + 1, gl_ViewportIndex + 1, 0.0, 1.0);
}
