// A vertex shader that names every kind of vertex input, packs an array over rows, and depends on the view.
cbuffer Camera : register(b2, space1) {
    float4x4 transform;
    float4 bones[8];
};

struct Output {
    float4 position : SV_Position;
    float3 normal : NORMAL;
    float2 coordinates[2] : TEXCOORD3;
    nointerpolation uint identity : IDENTITY;
    float clip : SV_ClipDistance0;
};

Output main(float3 position : POSITION, float3 normal : NORMAL, float2 uv : TEXCOORD, uint vertex : SV_VertexID,
            uint instance : SV_InstanceID, uint view : SV_ViewID) {
    Output output;
    output.position = mul(float4(position, 1), transform);
    output.position.x += (float)view;
    output.normal = normal * bones[instance & 7].xyz;
    output.coordinates[0] = uv;
    output.coordinates[1] = uv.yx;
    output.identity = vertex;
    output.clip = position.z;
    return output;
}
