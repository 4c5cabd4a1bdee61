// An amplification and a mesh shader.
struct Payload { uint meshlets[16]; float4 tint; };
groupshared Payload payload;
groupshared float3 shared_points[12];

[numthreads(16, 1, 1)]
void amplify(uint i : SV_GroupIndex) {
    payload.meshlets[i] = i * 3;
    payload.tint = 1;
    DispatchMesh(4, 1, 1, payload);
}

struct Vertex { float4 position : SV_Position; float2 uv : TEXCOORD0; };
struct Primitive { uint layer : SV_RenderTargetArrayIndex; float4 tint : TINT; bool cull : SV_CullPrimitive; };

[outputtopology("triangle")]
[numthreads(12, 2, 1)]
void mesh(in payload Payload work, uint i : SV_GroupIndex, uint view : SV_ViewID, out vertices Vertex vertices[24],
          out indices uint3 triangles[8], out primitives Primitive primitives[8]) {
    SetMeshOutputCounts(24, 8);
    shared_points[i % 12] = (float)work.meshlets[i & 15];
    GroupMemoryBarrierWithGroupSync();
    vertices[i].position = float4(shared_points[(i + 1) % 12], (float)view);
    vertices[i].uv = (float)i;
    if (i < 8) {
        triangles[i] = uint3(i, i + 1, i + 2);
        primitives[i].layer = view;
        primitives[i].tint = work.tint;
        primitives[i].cull = false;
    }
}
