// Every parameter, range and sampler a root signature can have.
#define SIGNATURE \
    "RootFlags(ALLOW_INPUT_ASSEMBLER_INPUT_LAYOUT | DENY_HULL_SHADER_ROOT_ACCESS | ALLOW_STREAM_OUTPUT)," \
    "RootConstants(num32BitConstants=5, b3, space=2, visibility=SHADER_VISIBILITY_VERTEX)," \
    "CBV(b1), SRV(t2, space=1, visibility=SHADER_VISIBILITY_PIXEL)," FLAGGED \
    "DescriptorTable(SRV(t3, numDescriptors=7), CBV(b4, space=3), UAV(u1, numDescriptors=unbounded, offset=12))," \
    "DescriptorTable(Sampler(s2, numDescriptors=4), visibility=SHADER_VISIBILITY_PIXEL)," \
    "StaticSampler(s0, filter=FILTER_COMPARISON_MIN_MAG_LINEAR_MIP_POINT, addressU=TEXTURE_ADDRESS_CLAMP," \
    "    addressV=TEXTURE_ADDRESS_MIRROR, addressW=TEXTURE_ADDRESS_BORDER, mipLODBias=1.5, maxAnisotropy=8," \
    "    comparisonFunc=COMPARISON_GREATER, borderColor=STATIC_BORDER_COLOR_OPAQUE_WHITE, minLOD=0.25, maxLOD=9.5," \
    "    space=4, visibility=SHADER_VISIBILITY_PIXEL)," \
    "StaticSampler(s1, filter=FILTER_ANISOTROPIC)"

#ifdef VERSION_1_0
#define FLAGGED "UAV(u0),"
#else
#define FLAGGED "UAV(u0, flags=DATA_VOLATILE)," \
    "DescriptorTable(SRV(t20, flags=DESCRIPTORS_VOLATILE | DATA_STATIC_WHILE_SET_AT_EXECUTE))," \
    "DescriptorTable(SRV(t30, flags=DATA_STATIC)),"
#endif

cbuffer Constants : register(b3, space2) { float4 values; };

[RootSignature(SIGNATURE)]
float4 main(float4 position : POSITION) : SV_Position { return position + values; }
