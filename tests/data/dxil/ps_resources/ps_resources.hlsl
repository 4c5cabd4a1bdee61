// A pixel shader with a resource of every kind, a depth output and sample frequency.
struct Light { float4 colour; float3 direction; uint mask; };

Texture1D<float> ramp : register(t0);
Texture2D<float4> image : register(t1);
Texture2DMS<float4, 4> samples : register(t2);
Texture3D<float4> volume : register(t3);
TextureCube<float4> sky : register(t4);
Texture2DArray<float4> layers : register(t5, space2);
TextureCubeArray<float4> skies : register(t6);
Buffer<uint2> typed : register(t7);
ByteAddressBuffer raw : register(t8);
StructuredBuffer<Light> lights : register(t9);
Texture2D<float4> table[16] : register(t16, space3);
Texture2D<float4> unbounded[] : register(t0, space4);
SamplerState smooth : register(s0);
SamplerComparisonState compare : register(s1);
RWTexture2D<float> target : register(u4);
RWByteAddressBuffer rawTarget : register(u5);
RWStructuredBuffer<Light> counted : register(u6);
RWStructuredBuffer<Light> plain : register(u7);

struct Output {
    float4 colour : SV_Target0;
    float4 other : SV_Target2;
    float depth : SV_DepthGreaterEqual;
};

Output main(float4 position : SV_Position, linear sample float3 normal : NORMAL, centroid float2 uv : TEXCOORD0,
            noperspective float2 flat : TEXCOORD1, nointerpolation uint select : SELECT, uint index : SV_SampleIndex,
            bool front : SV_IsFrontFace) {
    Output output;
    float4 sum = ramp.Sample(smooth, uv.x) + image.Sample(smooth, uv) + samples.Load(int2(flat), index);
    sum += volume.Sample(smooth, normal) + sky.Sample(smooth, normal) + layers.Sample(smooth, normal);
    sum += skies.Sample(smooth, float4(normal, 1)) + table[select & 15].Sample(smooth, uv);
    sum += unbounded[NonUniformResourceIndex(select)].Sample(smooth, uv);
    sum += ramp.SampleCmpLevelZero(compare, uv.x, uv.y);
    sum.xy += typed[select];
    sum.z += asfloat(raw.Load(select * 4));
    sum += lights[select].colour;
    target[uint2(flat)] = sum.x;
    rawTarget.Store(4 * select, asuint(sum.y));
    counted[counted.IncrementCounter()] = lights[0];
    plain[select].mask = 7;
    output.colour = sum;
    output.other = front ? position : sum;
    output.depth = position.z + 0.5;
    return output;
}
