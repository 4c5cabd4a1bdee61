// shaderjit runs compiled GPU shaders on the CPU as native SIMD code.
//
// Shaders are parsed (`shaderjit_shader`), compiled by an engine (`shaderjit_engine`, one for a program) to code
// (`shaderjit_code`), and run by a call (`shaderjit_call`), to which attributes, buffers, textures are bound.
//
// Rules
// * A function that can fail gives a `shaderjit_status`. What was wrong says `shaderjit_error_message`, for each thread
//   by itself. A failing function has written no result, and changed nothing that is bound.
// * A handle is made by a function that ends in `_new`, `_parse`, `_compile` or is named a result here, and freed once,
//   by the function that ends in `_free`. Freeing null does nothing, and null as any other handle is an error.
// * A pointer to several things comes with their number: as many are there, and aligned as the compiler aligns them. It
//   may be null if the number is 0. Strings end in a zero byte, and are UTF-8.
// * What is said to be lent stays where it is, and as it is, until it is no longer lent. Everything else may go when
//   the function returns.
// * Engines, shaders, code, textures and memory may be used by several threads at once, but freed by one when no other
//   uses them. A call may be run by several threads while none binds to it; other handles belong to one thread at a
//   time.
// * No panic leaves the library, and nothing may be thrown through it.


#ifndef SHADERJIT_H
#define SHADERJIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// How a function ended. Codes keep their numbers; later versions may add some.
typedef enum shaderjit_status {
  // As wanted.
  SHADERJIT_STATUS_OK = 0,
  // An argument is null, no string, unknown by name, or out of range.
  SHADERJIT_STATUS_ARGUMENT = 1,
  // The bytes are no container, or a damaged one.
  SHADERJIT_STATUS_CONTAINER = 2,
  // A program is malformed.
  SHADERJIT_STATUS_PROGRAM = 3,
  // A legal program uses something that this library does not run.
  SHADERJIT_STATUS_UNSUPPORTED = 4,
  // A program is too large, or compiling it took too long.
  SHADERJIT_STATUS_LIMIT = 5,
  // No native code could be made.
  SHADERJIT_STATUS_NATIVE = 6,
  // A texture's sizes or bytes are wrong.
  SHADERJIT_STATUS_TEXTURE = 7,
  // The shader has no such input, output, buffer, texture, sampler or variable.
  SHADERJIT_STATUS_UNKNOWN_BINDING = 8,
  // Something the shader needs is not bound, or too short, or of the wrong kind.
  SHADERJIT_STATUS_BINDING = 9,
  // A loop ran too long.
  SHADERJIT_STATUS_OUT_OF_FUEL = 10,
  // Any other error of a run.
  SHADERJIT_STATUS_RUN = 11,
  // A defect of this library, or a function of the caller's threw. Nothing is to be relied on but that handles can
  // be freed.
  SHADERJIT_STATUS_PANIC = 12,
} shaderjit_status;

// The stage of the pipeline a program is for.
typedef enum shaderjit_stage {
  SHADERJIT_STAGE_VERTEX = 0,
  SHADERJIT_STAGE_PIXEL = 1,
  SHADERJIT_STAGE_GEOMETRY = 2,
  SHADERJIT_STAGE_HULL = 3,
  SHADERJIT_STAGE_DOMAIN = 4,
  SHADERJIT_STAGE_COMPUTE = 5,
} shaderjit_stage;

// What the components of an element are.
typedef enum shaderjit_component {
  SHADERJIT_COMPONENT_F32 = 0,
  SHADERJIT_COMPONENT_U32 = 1,
  SHADERJIT_COMPONENT_I32 = 2,
} shaderjit_component;

// How an input of a pixel shader varies over a primitive.
typedef enum shaderjit_interpolation {
  // It is no attribute: of other stages, or a system value.
  SHADERJIT_INTERPOLATION_NONE = 0,
  // Not at all.
  SHADERJIT_INTERPOLATION_CONSTANT = 1,
  // Linearly in space: its planes are those of the attribute divided by w.
  SHADERJIT_INTERPOLATION_PERSPECTIVE = 2,
  // Linearly over the target.
  SHADERJIT_INTERPOLATION_NO_PERSPECTIVE = 3,
} shaderjit_interpolation;

// What runs a shader; all give the same bits.
typedef enum shaderjit_backend {
  // Native code, made when the shader is compiled.
  SHADERJIT_BACKEND_JIT = 0,
  // The interpreter, until a thread of the engine has made native code.
  SHADERJIT_BACKEND_TIERED = 1,
  // The interpreter.
  SHADERJIT_BACKEND_INTERPRETER = 2,
} shaderjit_backend;

// The shape of a texture.
typedef enum shaderjit_shape {
  SHADERJIT_SHAPE_TEXTURE1D = 0,
  SHADERJIT_SHAPE_TEXTURE2D = 1,
  SHADERJIT_SHAPE_TEXTURE3D = 2,
  SHADERJIT_SHAPE_CUBE = 3,
  // Of several samples a texel.
  SHADERJIT_SHAPE_TEXTURE2D_MS = 4,
} shaderjit_shape;

// Which texels a sample weighs.
typedef enum shaderjit_filter {
  SHADERJIT_FILTER_LINEAR = 0,
  SHADERJIT_FILTER_POINT = 1,
  SHADERJIT_FILTER_ANISOTROPIC = 2,
} shaderjit_filter;

// Which texel stands for one beyond the edge.
typedef enum shaderjit_address {
  SHADERJIT_ADDRESS_CLAMP = 0,
  SHADERJIT_ADDRESS_WRAP = 1,
  SHADERJIT_ADDRESS_MIRROR = 2,
  SHADERJIT_ADDRESS_BORDER = 3,
  SHADERJIT_ADDRESS_MIRROR_ONCE = 4,
} shaderjit_address;

// The test of a comparison sampler: the reference is on the left, the texel on the right.
typedef enum shaderjit_comparison {
  SHADERJIT_COMPARISON_NEVER = 0,
  SHADERJIT_COMPARISON_LESS = 1,
  SHADERJIT_COMPARISON_EQUAL = 2,
  SHADERJIT_COMPARISON_LESS_EQUAL = 3,
  SHADERJIT_COMPARISON_GREATER = 4,
  SHADERJIT_COMPARISON_NOT_EQUAL = 5,
  SHADERJIT_COMPARISON_GREATER_EQUAL = 6,
  SHADERJIT_COMPARISON_ALWAYS = 7,
} shaderjit_comparison;

// What a filter makes of its texels.
typedef enum shaderjit_reduction {
  SHADERJIT_REDUCTION_AVERAGE = 0,
  SHADERJIT_REDUCTION_MINIMUM = 1,
  SHADERJIT_REDUCTION_MAXIMUM = 2,
} shaderjit_reduction;

// How a shader sees a buffer.
typedef enum shaderjit_buffer_kind {
  // 32-bit words: `ByteAddressBuffer`.
  SHADERJIT_BUFFER_KIND_RAW = 0,
  // Structures: `StructuredBuffer`.
  SHADERJIT_BUFFER_KIND_STRUCTURED = 1,
  // Elements of a format: `Buffer`.
  SHADERJIT_BUFFER_KIND_TYPED = 2,
  // Texels, of memory that is written: `RWTexture2D` and its like.
  SHADERJIT_BUFFER_KIND_IMAGE = 3,
} shaderjit_buffer_kind;

// What is bound for runs of a shader. One thread at a time may bind; several may run it while none binds.
typedef struct shaderjit_call shaderjit_call;

// A compiled shader. Threads may share it.
typedef struct shaderjit_code shaderjit_code;

// Compiles shaders and keeps what it has compiled, by content. One for a program; threads may share it.
typedef struct shaderjit_engine shaderjit_engine;

// Bytes that shaders write, on any number of threads.
typedef struct shaderjit_memory shaderjit_memory;

// What a run gave: rows of outputs, one a vertex or pixel.
typedef struct shaderjit_outputs shaderjit_outputs;

// What a draw gave.
typedef struct shaderjit_pica_triangles shaderjit_pica_triangles;

// A shader unit. One thread at a time may use it.
typedef struct shaderjit_pica_unit shaderjit_pica_unit;

// A file with shaders. Threads may share it.
typedef struct shaderjit_shader shaderjit_shader;

// A texture. Threads may share it.
typedef struct shaderjit_texture shaderjit_texture;

// What an engine is made of. Fields that are 0 mean the default.
typedef struct shaderjit_config {
  // Bytes of code and IR that the cache may hold: 64 MiB.
  uint64_t cache_bytes;
  // How many instructions a wave, the lanes that run together, may execute in loops before a run ends with
  // `SHADERJIT_STATUS_OUT_OF_FUEL`: 2^26.
  uint32_t wave_fuel;
  // How many all waves of a run may execute together: 2^40.
  uint64_t call_fuel;
  // Whether `mad` rounds twice on every machine, so that results do not depend on it.
  bool portable;
} shaderjit_config;

// How a shader is compiled. Fields that are 0 mean the default.
typedef struct shaderjit_compile_options {
  // Which program of the file.
  size_t entry;
  // A `shaderjit_backend`.
  uint32_t backend;
  // How many lanes run together: 4, 8 or 16; 0 chooses.
  uint32_t lanes;
  // Samples that a pixel of the target has: 1.
  uint32_t samples;
  // Whether programs of the Nintendo 3DS keep numbers of 24 bits, as the hardware does, instead of 32.
  bool pica_float24;
} shaderjit_compile_options;

// Counters of an engine's cache.
typedef struct shaderjit_cache_stats {
  // Programs, pieces of native code, and refusals held.
  uint64_t entries;
  // Bytes they occupy.
  uint64_t bytes;
  // Bytes they may occupy.
  uint64_t budget;
  // How often one of them was made.
  uint64_t compiles;
  // How often one of them was there.
  uint64_t hits;
} shaderjit_cache_stats;

// An input or output.
typedef struct shaderjit_element {
  // The semantic as the container spells it, or the register (`v0`, `o3`). Valid as long as the code.
  const char *semantic;
  // Semantic index.
  uint32_t index;
  // Components of the register that it occupies, bit 0 = x.
  uint8_t mask;
  enum shaderjit_component component;
  enum shaderjit_interpolation interpolation;
  // Number of the plane of its first component, if it is an attribute of a pixel shader.
  uint32_t plane;
} shaderjit_element;

// A buffer that is read.
typedef struct shaderjit_buffer_view {
  const void *bytes;
  size_t length;
  // A `shaderjit_buffer_kind`, all but the last.
  uint32_t kind;
  // Bytes of a structure.
  uint32_t stride;
  // The name of a format, if it is typed.
  const char *format;
} shaderjit_buffer_view;

// A sampler's state, which `shaderjit_sampler_default` fills in.
typedef struct shaderjit_sampler {
  // `shaderjit_filter`s: of texels that are smaller than what is sampled, of larger ones, between levels.
  uint32_t min;
  uint32_t mag;
  uint32_t mip;
  // `shaderjit_address`es: for u, v and w.
  uint32_t address[3];
  // Red, green, blue, alpha.
  float border[4];
  // A `shaderjit_comparison`.
  uint32_t comparison;
  // A `shaderjit_reduction`.
  uint32_t reduction;
  float lod_bias;
  float min_lod;
  float max_lod;
  // 1 to 16.
  uint8_t max_anisotropy;
} shaderjit_sampler;

// Shape, sizes and format of a texture. Sizes that are 0 are 1.
typedef struct shaderjit_texture_layout {
  // The name of a format, as the command line has it: `rgba8`, `r32f`, `bc7` and so on.
  const char *format;
  // A `shaderjit_shape`.
  uint32_t shape;
  uint32_t width;
  uint32_t height;
  uint32_t depth;
  // Slices of an array, or cubes; 0 if it is none.
  uint32_t slices;
  uint32_t levels;
  uint32_t samples;
} shaderjit_texture_layout;

// Memory that is written, as a shader sees it.
typedef struct shaderjit_memory_view {
  const struct shaderjit_memory *memory;
  // Whose first word counts structures; null if none does.
  const struct shaderjit_memory *counter;
  // A `shaderjit_buffer_kind`.
  uint32_t kind;
  // Bytes of a structure.
  uint32_t stride;
  // The name of a format, if it is typed.
  const char *format;
  // Of images; null if it is none.
  const struct shaderjit_texture_layout *layout;
} shaderjit_memory_view;

// The place of a texel.
typedef struct shaderjit_texel {
  uint32_t x;
  uint32_t y;
  uint32_t z;
  // Slice of an array; of cubes six times that, plus the face: +x, -x, +y, -y, +z, -z.
  uint32_t layer;
  uint32_t level;
  uint32_t sample;
} shaderjit_texel;

// Gives a texel: writes the bits of red, green, blue and alpha, as floats or integers by the texture's format. Called
// from any thread that runs the call, from several at once; a place must give the same bits throughout a run. It must
// return: no exception, no `longjmp`.
typedef void (*shaderjit_texel_function)(void *user, const struct shaderjit_texel *at, uint32_t *bits);

// Where an output element goes in the caller's memory.
typedef struct shaderjit_place {
  // Number of the element among the outputs of the signature.
  size_t element;
  // Byte offset of the first vertex's.
  size_t offset;
  // Bytes from one vertex to the next.
  size_t stride;
} shaderjit_place;

// One output of all rows: of row `i`, `stride * i` bytes from the first, its components in order, 4 bytes each.
typedef struct shaderjit_output {
  // Valid as long as the outputs.
  const uint8_t *first;
  size_t stride;
  uint32_t components;
} shaderjit_output;

// Four pixels: (x, y), (x + 1, y), (x, y + 1), (x + 1, y + 1), in this order everywhere.
typedef struct shaderjit_quad {
  // Of the first pixel, which is the one on the left; even if it is a whole quad of the target.
  uint32_t x;
  // Of the first pixel, which is the upper one; even if it is a whole quad of the target.
  uint32_t y;
  // Number of its primitive among those of the call.
  uint32_t primitive;
  // For each pixel, the samples of it that the primitive covers: what `SV_Coverage` says, and where the centroid is.
  uint16_t coverage[4];
  // Which pixels are shaded for themselves, bit 0 the first. The others only help them with derivatives: they run,
  // and have no effect on memory; their outputs mean nothing.
  uint8_t live;
  // Which sample is shaded, in shaders that run once a sample.
  uint8_t sample;
} shaderjit_quad;

// A number that is linear over the target: an attribute of a primitive, divided by w where it is in perspective.
//
// One that changes by 0 in both directions keeps its bits as they are, which may be an integer's.
typedef struct shaderjit_plane {
  // What it is at the primitive's origin.
  float value;
  // How much it changes from a pixel to the one on its right.
  float dx;
  // How much it changes from a pixel to the one below.
  float dy;
} shaderjit_plane;

// What the pixels of a triangle, line or point share, but for the planes of its attributes.
typedef struct shaderjit_primitive {
  // The point of the target at which planes have their value, in pixels from its upper left corner. One inside the
  // primitive or near it keeps most digits.
  float origin[2];
  // Depth, which is linear over the target.
  struct shaderjit_plane depth;
  // 1/w.
  struct shaderjit_plane reciprocal_w;
  // What `SV_IsFrontFace` says.
  bool front_face;
  // What `SV_PrimitiveID` says.
  uint32_t id;
} shaderjit_primitive;

// Gives so many bytes of memory from a physical address on, which stay as they are until the draw has ended, or null
// where there is none. It must return: no exception, no `longjmp`.
typedef const void *(*shaderjit_memory_function)(void *user, uint32_t address, size_t length);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// What was wrong when a function of this thread last failed, in English, without a full stop. Empty if none has. Valid
// until the next one fails.
const char *shaderjit_error_message(void);

// The byte of the file that caused the last error of this thread, from the first of what was parsed; -1 if no single
// one did.
int64_t shaderjit_error_offset(void);

// The version of the library, `1.2.3`. Never freed.
const char *shaderjit_version(void);

// Reads a file of any kind that the library knows, told apart by its first bytes. The bytes are copied.
enum shaderjit_status shaderjit_shader_parse(const void *bytes, size_t length, struct shaderjit_shader **shader);

// Frees a shader. What was compiled of it stays.
void shaderjit_shader_free(struct shaderjit_shader *shader);

// How many programs a file has: one, but in files of the Nintendo 3DS. 0 for null.
size_t shaderjit_shader_entries(const struct shaderjit_shader *shader);

// The stage that a program is for.
enum shaderjit_status shaderjit_shader_stage(const struct shaderjit_shader *shader,
                                             size_t entry,
                                             enum shaderjit_stage *stage);

// A program as its own disassembler prints it. The text is freed by `shaderjit_text_free`.
enum shaderjit_status shaderjit_shader_disassemble(const struct shaderjit_shader *shader, size_t entry, char **text);

// Frees a text. Null is none.
void shaderjit_text_free(char *text);

// Makes an engine. A null configuration is the default one.
enum shaderjit_status shaderjit_engine_new(const struct shaderjit_config *config, struct shaderjit_engine **engine);

// Frees an engine. What it has compiled stays as long as its handles.
void shaderjit_engine_free(struct shaderjit_engine *engine);

// Compiles a program, or finds it compiled. Null options are the default ones.
enum shaderjit_status shaderjit_engine_compile(const struct shaderjit_engine *engine,
                                               const struct shaderjit_shader *shader,
                                               const struct shaderjit_compile_options *options,
                                               struct shaderjit_code **code);

// Counters of the cache.
enum shaderjit_status shaderjit_engine_cache_stats(const struct shaderjit_engine *engine,
                                                   struct shaderjit_cache_stats *stats);

// Empties the cache. Shaders in use stay until their last handle is freed.
void shaderjit_engine_clear_cache(const struct shaderjit_engine *engine);

// Another handle of the same code.
struct shaderjit_code *shaderjit_code_clone(const struct shaderjit_code *code);

// Frees a handle. Calls that were made of it stay.
void shaderjit_code_free(struct shaderjit_code *code);

// Whether there is native code now; false for null.
bool shaderjit_code_is_native(const struct shaderjit_code *code);

// How many lanes run together.
uint32_t shaderjit_code_lanes(const struct shaderjit_code *code);

// How many inputs the signature has.
size_t shaderjit_code_inputs(const struct shaderjit_code *code);

// How many outputs the signature has.
size_t shaderjit_code_outputs(const struct shaderjit_code *code);

// How many planes a primitive has, of pixel shaders.
uint32_t shaderjit_code_planes(const struct shaderjit_code *code);

// Input `number` of the signature.
enum shaderjit_status shaderjit_code_input(const struct shaderjit_code *code,
                                           size_t number,
                                           struct shaderjit_element *element);

// Output `number` of the signature.
enum shaderjit_status shaderjit_code_output(const struct shaderjit_code *code,
                                            size_t number,
                                            struct shaderjit_element *element);

// Begins a call of a shader, with nothing bound. Null for null.
struct shaderjit_call *shaderjit_call_new(const struct shaderjit_code *code);

// A call with the same bindings, for another thread to change. Null for null.
struct shaderjit_call *shaderjit_call_clone(const struct shaderjit_call *call);

// Frees a call. What was lent to it is the caller's again.
void shaderjit_call_free(struct shaderjit_call *call);

// Binds an input by its semantic: of vertex `i`, `stride * i` bytes from the first. Bytes are lent until the call is
// freed or the input bound anew. The formats are those of `README.md`: `f32x3`, `unorm8x4`, `i16x2` and so on.
//
// If `instances` is not 0, every so many instances share a row, and all vertices of an instance do.
enum shaderjit_status shaderjit_call_input(struct shaderjit_call *call,
                                           const char *semantic,
                                           uint32_t index,
                                           const char *format,
                                           const void *bytes,
                                           size_t length,
                                           size_t stride,
                                           uint32_t instances);

// Binds constant buffer `slot` of a register space (0 but in shader model 5.1). The bytes are copied.
enum shaderjit_status shaderjit_call_constant_buffer(struct shaderjit_call *call,
                                                     uint32_t slot,
                                                     uint32_t space,
                                                     const void *bytes,
                                                     size_t length);

// Sets a variable of a constant buffer, or a uniform of the Nintendo 3DS, by its name: all of its bytes as they lie in
// the buffer. The bytes are copied.
enum shaderjit_status shaderjit_call_set(struct shaderjit_call *call,
                                         const char *name,
                                         const void *bytes,
                                         size_t length);

// Binds the float uniforms of a Nintendo 3DS program, from c0 on: four floats each, copied.
enum shaderjit_status shaderjit_call_pica_floats(struct shaderjit_call *call, const float (*rows)[4], size_t count);

// Binds the integer uniforms of a Nintendo 3DS program, from i0 on: four bytes each, copied.
enum shaderjit_status shaderjit_call_pica_ints(struct shaderjit_call *call, const uint8_t (*rows)[4], size_t count);

// Binds the bool uniforms of a Nintendo 3DS program, bit 0 = b0.
enum shaderjit_status shaderjit_call_pica_bools(struct shaderjit_call *call, uint16_t mask);

// Binds a buffer that is read (`t` registers). Its bytes are lent until the call is freed or the slot bound anew.
enum shaderjit_status shaderjit_call_buffer(struct shaderjit_call *call,
                                            uint32_t slot,
                                            uint32_t space,
                                            const struct shaderjit_buffer_view *view);

// Binds a texture (`t` registers), lent until the call is freed or the slot bound anew.
enum shaderjit_status shaderjit_call_texture(struct shaderjit_call *call,
                                             uint32_t slot,
                                             uint32_t space,
                                             const struct shaderjit_texture *texture);

// Binds a sampler (`s` registers); its state is copied.
enum shaderjit_status shaderjit_call_sampler(struct shaderjit_call *call,
                                             uint32_t slot,
                                             uint32_t space,
                                             const struct shaderjit_sampler *sampler);

// Binds memory that is written (`u` registers). Its buffers are lent until the call is freed or the slot bound anew.
enum shaderjit_status shaderjit_call_unordered_access(struct shaderjit_call *call,
                                                      uint32_t slot,
                                                      uint32_t space,
                                                      const struct shaderjit_memory_view *view);

// Whether what is not bound reads 0, instead of being an error of the run. Default: false.
enum shaderjit_status shaderjit_call_unbound_as_zero(struct shaderjit_call *call, bool zero);

// Sets what is added to the number of a vertex that the shader sees, and the number of the instance.
enum shaderjit_status shaderjit_call_numbers(struct shaderjit_call *call, uint32_t first_vertex, uint32_t instance);

// Makes a texture of bytes: layer by layer, level by level, row by row, without padding. Bytes of compressed blocks
// are decoded; others are lent until the texture is freed.
enum shaderjit_status shaderjit_texture_image(const struct shaderjit_texture_layout *layout,
                                              const void *bytes,
                                              size_t length,
                                              struct shaderjit_texture **texture);

// Makes a texture of which a function gives each texel. Of the format, the kind and the number of components count.
// `user` is passed on, and lent until the texture is freed.
enum shaderjit_status shaderjit_texture_function(const struct shaderjit_texture_layout *layout,
                                                 shaderjit_texel_function function,
                                                 void *user,
                                                 struct shaderjit_texture **texture);

// Frees a texture, which no call may have bound any more.
void shaderjit_texture_free(struct shaderjit_texture *texture);

// The default sampler: linear in all ways, clamped to the edge.
struct shaderjit_sampler shaderjit_sampler_default(void);

// Makes memory that shaders write: a copy of these bytes, or so many zeros if they are null.
enum shaderjit_status shaderjit_memory_new(const void *bytes, size_t length, struct shaderjit_memory **memory);

// Frees memory, which no call may have bound any more.
void shaderjit_memory_free(struct shaderjit_memory *memory);

// Copies the bytes of memory as they are now: as many as it has, or as there is room for.
enum shaderjit_status shaderjit_memory_read(const struct shaderjit_memory *memory, void *bytes, size_t length);

// Shades vertices: `count` of them, from `first` on. The outputs are freed by `shaderjit_outputs_free`.
enum shaderjit_status shaderjit_call_run(const struct shaderjit_call *call,
                                         uint32_t first,
                                         uint32_t count,
                                         struct shaderjit_outputs **outputs);

// Shades vertices into the caller's memory: elements without a place are not stored. Allocates nothing if an earlier
// run of the thread was as large.
enum shaderjit_status shaderjit_call_run_into(const struct shaderjit_call *call,
                                              uint32_t first,
                                              uint32_t count,
                                              const struct shaderjit_place *places,
                                              size_t place_count,
                                              void *bytes,
                                              size_t length);

// Shades the vertices that indices name, each once: vertex `index + base_vertex` of the inputs. Indices have 2 or 4
// bytes. Which row an index has is what `shaderjit_outputs_row` says.
enum shaderjit_status shaderjit_call_run_indexed(const struct shaderjit_call *call,
                                                 const void *indices,
                                                 uint32_t index_bytes,
                                                 size_t count,
                                                 int32_t base_vertex,
                                                 struct shaderjit_outputs **outputs);

// Runs so many thread groups of a compute shader, whose results are in the memory that is bound.
enum shaderjit_status shaderjit_call_dispatch(const struct shaderjit_call *call, uint32_t x, uint32_t y, uint32_t z);

// Frees outputs.
void shaderjit_outputs_free(struct shaderjit_outputs *outputs);

// How many rows there are; 0 for null.
size_t shaderjit_outputs_count(const struct shaderjit_outputs *outputs);

// The row of the vertex that an index names; -1 if the index was not drawn, or nothing was drawn by indices.
int64_t shaderjit_outputs_row(const struct shaderjit_outputs *outputs, uint32_t index);

// Says of each row whether the pixel shader discarded its pixel, whose outputs mean nothing then: 1 or 0, for as many
// rows as there are, or as there is room for.
enum shaderjit_status shaderjit_outputs_discarded(const struct shaderjit_outputs *outputs,
                                                  uint8_t *flags,
                                                  size_t length);

// An output by its semantic.
enum shaderjit_status shaderjit_outputs_find(const struct shaderjit_outputs *outputs,
                                             const char *semantic,
                                             uint32_t index,
                                             struct shaderjit_output *output);

// Shades quads of 2×2 pixels: four rows of outputs a quad, upper left, upper right, lower left, lower right. Waves of
// several quads run in the order of the quads.
//
// Each primitive has `shaderjit_code_planes` planes, one a component of its attributes, in the order of the input
// signature. `samples` is how many a pixel of the target has: 1, 2, 4, 8 or 16.
enum shaderjit_status shaderjit_call_pixels(const struct shaderjit_call *call,
                                            const struct shaderjit_quad *quads,
                                            size_t quad_count,
                                            const struct shaderjit_primitive *primitives,
                                            size_t primitive_count,
                                            const struct shaderjit_plane *planes,
                                            size_t plane_count,
                                            uint32_t samples,
                                            struct shaderjit_outputs **outputs);

// Makes a unit, as after reset.
struct shaderjit_pica_unit *shaderjit_pica_unit_new(void);

// Frees a unit.
void shaderjit_pica_unit_free(struct shaderjit_pica_unit *unit);

// Writes a register of the graphics processor. Whether it is one of the shader unit's; draws are none.
bool shaderjit_pica_unit_write(struct shaderjit_pica_unit *unit, uint16_t register_, uint32_t value);

// Loads executables of a SHBIN as applications do: a vertex shader, and a geometry shader if its number is not
// negative.
enum shaderjit_status shaderjit_pica_unit_bind(struct shaderjit_pica_unit *unit,
                                               const void *bytes,
                                               size_t length,
                                               size_t vertex,
                                               int64_t geometry);

// Whether numbers have 24 bits, as the hardware's, instead of 32; and whether the interpreter runs the shaders while a
// thread of the engine makes native code.
enum shaderjit_status shaderjit_pica_unit_options(struct shaderjit_pica_unit *unit, bool float24, bool tiered);

// Draws what the registers say: with indices, as a write of 0x22f does, or without, as one of 0x22e. `memory` is asked
// once for each buffer.
enum shaderjit_status shaderjit_pica_unit_draw(struct shaderjit_pica_unit *unit,
                                               const struct shaderjit_engine *engine,
                                               bool indexed,
                                               shaderjit_memory_function memory,
                                               void *user,
                                               struct shaderjit_pica_triangles **triangles);

// Frees triangles.
void shaderjit_pica_triangles_free(struct shaderjit_pica_triangles *triangles);

// How many vertices there are; 0 for null.
size_t shaderjit_pica_vertex_count(const struct shaderjit_pica_triangles *triangles);

// The vertices, 24 floats each: position (4), quaternion (4), colour (4), texture coordinates 0 and 1 (2 each), the
// third component of coordinate 0, nothing, the way to the eye (3), nothing, texture coordinate 2. Valid as long as
// the triangles.
const uint8_t *shaderjit_pica_vertices(const struct shaderjit_pica_triangles *triangles);

// How many triangles there are; 0 for null.
size_t shaderjit_pica_triangle_count(const struct shaderjit_pica_triangles *triangles);

// The triangles: numbers of three vertices each. Valid as long as they are.
const uint32_t *shaderjit_pica_indices(const struct shaderjit_pica_triangles *triangles);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* SHADERJIT_H */
