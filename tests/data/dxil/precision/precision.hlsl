// 16-bit types: minimum precision by default, native with -enable-16bit-types.
struct Output { float4 position : SV_Position; min16float4 colour : COLOR; min16uint count : COUNT; };

Output main(float4 position : POSITION, min16float4 colour : COLOR, min16int offset : OFFSET) {
    Output output;
    output.position = position;
    output.colour = colour * (min16float)2;
    output.count = (min16uint)(offset + 1);
    return output;
}
