#version 450
// The edges of a picture: what Sobel's two differences of its brightness give, white on black.
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 0) uniform sampler2D picture;
layout(set = 0, binding = 1, rgba8) uniform writeonly image2D edges;
layout(push_constant) uniform Options { float strength; } options;

float brightness(ivec2 at) {
    ivec2 inside = clamp(at, ivec2(0), textureSize(picture, 0) - 1);
    return dot(texelFetch(picture, inside, 0).rgb, vec3(0.299, 0.587, 0.114));
}

void main() {
    ivec2 here = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(here, imageSize(edges)))) return;
    vec2 slope = vec2(0.0);
    for (int side = -1; side <= 1; side++) {
        float weight = side == 0 ? 2.0 : 1.0;
        slope.x += weight * (brightness(here + ivec2(1, side)) - brightness(here + ivec2(-1, side)));
        slope.y += weight * (brightness(here + ivec2(side, 1)) - brightness(here + ivec2(side, -1)));
    }
    imageStore(edges, here, vec4(vec3(length(slope) * options.strength), 1.0));
}
