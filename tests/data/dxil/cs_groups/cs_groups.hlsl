// A compute shader with an odd group, group-shared memory, 64-bit atomics, a wave size and heap indexing.
groupshared uint64_t total[8];
RWStructuredBuffer<uint64_t> results : register(u3);
ByteAddressBuffer source : register(t1);

[WaveSize(32)]
[numthreads(8, 4, 2)]
void main(uint3 id : SV_DispatchThreadID, uint i : SV_GroupIndex) {
    Texture2D<float> image = ResourceDescriptorHeap[source.Load(4)];
    InterlockedAdd(total[i & 7], (uint64_t)source.Load(id.x * 4));
    GroupMemoryBarrierWithGroupSync();
    InterlockedMax(results[i], total[i & 7] + (uint64_t)image.Load(id));
}
