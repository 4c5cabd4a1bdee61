// A 3DS emulator's draw loop: a command list is register writes, some of which draw what the game has in memory.
// `emulator FILE`, where FILE is tests/data/pica/t01_transform.shbin.

#include "shaderjit.hpp"

#include <cstdio>
#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

namespace {

// The physical address of the game's memory: three vertices of 14 bytes, then a byte for each index.
constexpr uint32_t MEMORY = 0x18000000;

struct Memory {
    std::vector<uint8_t> bytes;

    const uint8_t *operator()(uint32_t address, size_t length) const {
        const size_t offset = address - MEMORY;
        const bool is_there = address >= MEMORY && offset <= bytes.size() && length <= bytes.size() - offset;
        return is_there ? bytes.data() + offset : nullptr;
    }
};

using Commands = std::vector<std::pair<uint16_t, uint32_t>>;

// Writes a command list's registers and gives what it draws.
std::vector<shaderjit::Triangles> run(shaderjit::Unit &unit, const shaderjit::Engine &engine, Memory &memory,
                                      const Commands &commands) {
    std::vector<shaderjit::Triangles> drawn;
    for (const auto &[number, value] : commands) {
        switch (number) {
        case 0x22e:
        case 0x22f:
            drawn.push_back(shaderjit::draw(unit, engine, number == 0x22f, memory));
            break;
        default: // The rest of the GPU's registers are not the unit's.
            shaderjit_pica_unit_write(unit.get(), number, value);
        }
    }
    return drawn;
}

void append(std::vector<uint8_t> &bytes, std::initializer_list<int> position) {
    for (const int value : position) {
        bytes.push_back(static_cast<uint8_t>(value & 0xff));
        bytes.push_back(static_cast<uint8_t>(value >> 8 & 0xff));
    }
    // A colour of four bytes, a texture coordinate of two shorts.
    bytes.insert(bytes.end(), {255, 128, 0, 255, 7, 0, 0xff, 0xff});
}

} // namespace

int main(int argc, char **argv) try {
    if (argc != 2) {
        std::fprintf(stderr, "usage: %s FILE\n", argv[0]);
        return 2;
    }
    std::ifstream file(argv[1], std::ios::binary);
    const std::vector<uint8_t> shbin{std::istreambuf_iterator<char>(file), {}};

    Memory memory;
    append(memory.bytes, {0, 32, 0});
    append(memory.bytes, {-32, -32, 0});
    append(memory.bytes, {32, -32, 0});
    memory.bytes.insert(memory.bytes.end(), {2, 0, 1});

    const shaderjit::Engine engine = shaderjit::engine(); // one for the whole emulator: it keeps what it has compiled
    shaderjit::Unit unit(shaderjit_pica_unit_new());
    shaderjit::check(shaderjit_pica_unit_bind(unit.get(), shbin.data(), shbin.size(), 0, -1));
    // Three attributes: how many, and which register each goes to.
    Commands commands{{0x2b9, 2}, {0x2bb, 0x210}, {0x2c0, 1u << 31}};
    // The matrix in c0 to c3, w first: numbers come as they are stored, and a position's 32 is to be 0.5.
    constexpr uint32_t S = 0x3c800000, ONE = 0x3f800000;
    for (const uint32_t element : {0u, 0u, 0u, S, 0u, 0u, S, 0u, 0u, S, 0u, 0u, ONE, 0u, 0u, 0u}) {
        commands.emplace_back(0x2c1, element);
    }
    // Three attributes in rows of 14 bytes; three indices behind them; the draw.
    commands.insert(commands.end(), {{0x200, MEMORY >> 3}, {0x201, 0x6da}, {0x202, 0x20000000}, {0x203, 0},
                                     {0x204, 0x210}, {0x205, 0x300e0000}, {0x227, 42}, {0x228, 3}, {0x22f, 1}});
    const auto drawn = run(unit, engine, memory, commands);

    for (const uint32_t index : shaderjit::indices(drawn.at(0))) {
        const shaderjit::Vertex corner = shaderjit::vertex(drawn[0], index);
        std::printf("%g %g %g %g, colour %g %g %g %g, coordinate %g %g\n", corner.position[0], corner.position[1],
                    corner.position[2], corner.position[3], corner.colour[0], corner.colour[1], corner.colour[2],
                    corner.colour[3], corner.coordinates[0][0], corner.coordinates[0][1]);
    }
    return 0;
} catch (const shaderjit::Error &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
