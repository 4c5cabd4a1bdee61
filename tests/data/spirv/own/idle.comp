#version 450
// Each thread goes round as often as it likes, all wait for each other if memory says so, and nothing is written.
layout(local_size_x = 11) in;
layout(set = 0, binding = 0, std430) buffer Rounds { uint rounds[]; };

void main() {
    uint sum = 0u;
    for (uint n = 0u; n < rounds[gl_LocalInvocationIndex]; n++) sum += rounds[(gl_LocalInvocationIndex + n) & 7u];
    if (rounds[0] > 3u) barrier();
}
