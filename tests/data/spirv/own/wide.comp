#version 450
// Quotients and remainders of pairs of 64-bit numbers: four words in, eight out.
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
layout(local_size_x = 8) in;
layout(set = 0, binding = 0, std430) readonly buffer In { uint64_t pairs[]; };
layout(set = 0, binding = 1, std430) writeonly buffer Out { uint64_t results[]; };

void main() {
    uint n = gl_GlobalInvocationID.x;
    uint64_t x = pairs[2 * n], y = pairs[2 * n + 1];
    int64_t sx = int64_t(x), sy = int64_t(y);
    results[4 * n] = x / y;
    results[4 * n + 1] = x % y;
    results[4 * n + 2] = uint64_t(sx / sy);
    results[4 * n + 3] = uint64_t(sx % sy);
}
