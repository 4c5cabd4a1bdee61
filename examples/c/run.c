// Runs a vertex shader: `run FILE`, where FILE is tests/data/dxbc/vs_transform/VS.vs_5_0.fxc101.dxbc.

#include <shaderjit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(shaderjit_status status, const char *what) {
    if (status != SHADERJIT_STATUS_OK) {
        fprintf(stderr, "%s: %s (status %d, offset %lld)\n", what, shaderjit_error_message(), (int)status,
                (long long)shaderjit_error_offset());
        exit(1);
    }
}

static uint8_t *read_file(const char *path, size_t *length) {
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(1);
    }
    uint8_t *bytes = malloc(1 << 20);
    *length = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    return bytes;
}

static void set(shaderjit_call *call, const char *name, const void *bytes, size_t length) {
    check(shaderjit_call_set(call, name, bytes, length), name);
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: %s FILE\n", argv[0]);
        return 2;
    }
    size_t length;
    uint8_t *bytes = read_file(argv[1], &length);
    shaderjit_shader *shader;
    check(shaderjit_shader_parse(bytes, length, &shader), argv[1]);
    free(bytes);
    shaderjit_engine *engine;
    check(shaderjit_engine_new(NULL, &engine), "engine");
    shaderjit_code *code;
    check(shaderjit_engine_compile(engine, shader, NULL, &code), "compile");

    // Four corners of two triangles. Bytes stay where they are until the call is freed.
    static const float positions[4][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {1, 1, 0.5f}};
    static const float normal[3] = {0, 0, 1}, coordinate[2] = {0.5f, 0.25f}, colour[4] = {1, 1, 1, 1};
    // Column by column, as the shader stores it; vectors are rows, so the way is the last row.
    static const float world[16] = {1, 0, 0, 10, 0, 1, 0, 20, 0, 0, 1, 30, 0, 0, 0, 1};
    static const float identity[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    static const float ambient = 0.25f;
    shaderjit_call *call = shaderjit_call_new(code);
    check(shaderjit_call_input(call, "POSITION", 0, "f32x3", positions, sizeof positions, 12, 0), "in");
    // A stride of 0 gives every vertex the same.
    check(shaderjit_call_input(call, "NORMAL", 0, "f32x3", normal, sizeof normal, 0, 0), "in");
    check(shaderjit_call_input(call, "TEXCOORD", 0, "f32x2", coordinate, 8, 0, 0), "in");
    check(shaderjit_call_input(call, "COLOR", 0, "f32x4", colour, sizeof colour, 0, 0), "in");
    set(call, "world", world, sizeof world);
    set(call, "viewProj", identity, sizeof identity);
    set(call, "texMat", identity, 60);
    set(call, "sunDir", normal, sizeof normal);
    set(call, "ambient", &ambient, sizeof ambient);
    set(call, "tint", colour, sizeof colour);

    static const uint16_t indices[6] = {0, 1, 2, 2, 1, 3};
    shaderjit_outputs *outputs;
    check(shaderjit_call_run_indexed(call, indices, 2, 6, 0, &outputs), "run");
    shaderjit_output position;
    check(shaderjit_outputs_find(outputs, "SV_Position", 0, &position), "SV_Position");
    for (int i = 0; i < 6; i++) {
        float at[4];
        memcpy(at, position.first + position.stride * (size_t)shaderjit_outputs_row(outputs, indices[i]), sizeof at);
        printf("%u: %g %g %g %g\n", indices[i], at[0], at[1], at[2], at[3]);
    }

    // Mistakes are errors that say what there is.
    if (shaderjit_call_set(call, "wrold", world, sizeof world) == SHADERJIT_STATUS_UNKNOWN_BINDING) {
        printf("%s\n", shaderjit_error_message());
    }
    shaderjit_cache_stats stats;
    check(shaderjit_engine_cache_stats(engine, &stats), "cache");
    printf("shaderjit %s: %llu compiled, %llu found\n", shaderjit_version(), (unsigned long long)stats.compiles,
           (unsigned long long)stats.hits);
    shaderjit_outputs_free(outputs);
    shaderjit_call_free(call);
    shaderjit_code_free(code);
    shaderjit_engine_free(engine);
    shaderjit_shader_free(shader);
    return 0;
}
