#version 450
// `PS` of dxbc/ps_interp in GLSL, with the locations that DXC gave `VS`.
layout(location = 0) in vec4 a;
layout(location = 1) noperspective in vec4 b;
layout(location = 2) flat in uvec4 c;
layout(location = 3) centroid in vec2 d;
layout(location = 4) sample in vec2 e;
layout(location = 5) noperspective centroid in vec2 f;
layout(location = 0) out vec4 color;

void main() {
    vec4 r = interpolateAtSample(a, gl_SampleID) + interpolateAtCentroid(a) + interpolateAtOffset(b, vec2(3, -5) / 16.0);
    color = r + vec4(c) + vec4(d, e) + f.xyxy;
}
