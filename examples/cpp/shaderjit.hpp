// Handles that free themselves, and statuses that throw: a wrapper of shaderjit.h to copy and change.

#pragma once

#include <cstring>
#include <memory>
#include <shaderjit.h>
#include <span>
#include <stdexcept>
#include <string>

namespace shaderjit {

// What a call of the library failed with.
struct Error : std::runtime_error {
    shaderjit_status status;
    // Byte of the file, or -1.
    int64_t offset;

    explicit Error(shaderjit_status status)
        : std::runtime_error(shaderjit_error_message()), status(status), offset(shaderjit_error_offset()) {}
};

inline void check(shaderjit_status status) {
    if (status != SHADERJIT_STATUS_OK) {
        throw Error(status);
    }
}

template <auto free> struct Deleter {
    template <typename T> void operator()(T *handle) const { free(handle); }
};

template <typename T, auto free> using Handle = std::unique_ptr<T, Deleter<free>>;

using Engine = Handle<shaderjit_engine, shaderjit_engine_free>;
using Shader = Handle<shaderjit_shader, shaderjit_shader_free>;
using Code = Handle<shaderjit_code, shaderjit_code_free>;
using Call = Handle<shaderjit_call, shaderjit_call_free>;
using Outputs = Handle<shaderjit_outputs, shaderjit_outputs_free>;
using Unit = Handle<shaderjit_pica_unit, shaderjit_pica_unit_free>;
using Triangles = Handle<shaderjit_pica_triangles, shaderjit_pica_triangles_free>;

// Runs a function whose last argument is the place of a new handle.
template <typename H, typename F, typename... Arguments> H made(F function, Arguments... arguments) {
    typename H::pointer handle = nullptr;
    check(function(arguments..., &handle));
    return H(handle);
}

inline Engine engine(const shaderjit_config *config = nullptr) {
    return made<Engine>(shaderjit_engine_new, config);
}

inline Shader parse(std::span<const uint8_t> bytes) {
    return made<Shader>(shaderjit_shader_parse, bytes.data(), bytes.size());
}

inline Code compile(const Engine &engine, const Shader &shader, const shaderjit_compile_options *options = nullptr) {
    return made<Code>(shaderjit_engine_compile, engine.get(), shader.get(), options);
}

// Memory by physical address: a pointer to so many bytes, or null.
template <typename Memory> const void *at(void *memory, uint32_t address, size_t length) {
    return (*static_cast<Memory *>(memory))(address, length);
}

// Draws what the unit's registers say. `memory` must not throw.
template <typename Memory> Triangles draw(Unit &unit, const Engine &engine, bool indexed, Memory &memory) {
    return made<Triangles>(shaderjit_pica_unit_draw, unit.get(), engine.get(), indexed, at<Memory>, &memory);
}

// A vertex as the rasteriser takes it.
struct Vertex {
    float position[4], quaternion[4], colour[4], coordinates[2][2], coordinate_w, unused, view[3], unused_too,
        coordinate_2[2];
};
static_assert(sizeof(Vertex) == 96);

inline Vertex vertex(const Triangles &triangles, size_t number) {
    if (number >= shaderjit_pica_vertex_count(triangles.get())) {
        throw std::out_of_range("there is no such vertex");
    }
    Vertex vertex;
    std::memcpy(&vertex, shaderjit_pica_vertices(triangles.get()) + number * sizeof vertex, sizeof vertex);
    return vertex;
}

inline std::span<const uint32_t> indices(const Triangles &triangles) {
    return {shaderjit_pica_indices(triangles.get()), 3 * shaderjit_pica_triangle_count(triangles.get())};
}

} // namespace shaderjit
