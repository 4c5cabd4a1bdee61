// A ray-tracing library with a function of each stage, resources and subobjects.
GlobalRootSignature global_signature = { "DescriptorTable(UAV(u0)), SRV(t0), CBV(b1)" };
LocalRootSignature local_signature = { "RootConstants(num32BitConstants=4, b0, space=1)" };
StateObjectConfig config = { STATE_OBJECT_FLAGS_ALLOW_LOCAL_DEPENDENCIES_ON_EXTERNAL_DEFINITONS };
SubobjectToExportsAssociation association = { "local_signature", "closest;missed" };
RaytracingShaderConfig shader_config = { 32, 8 };
RaytracingPipelineConfig pipeline = { 2 };
RaytracingPipelineConfig1 pipeline_1 = { 4, RAYTRACING_PIPELINE_FLAG_SKIP_TRIANGLES };
TriangleHitGroup triangles = { "any", "closest" };
ProceduralPrimitiveHitGroup boxes = { "any", "closest", "intersect" };

struct [raypayload] Payload {
    float4 colour : read(caller, closesthit, anyhit) : write(caller, closesthit, anyhit, miss);
    float depth : read(caller) : write(closesthit, caller);
};
struct Attributes { float2 barycentrics; };

RaytracingAccelerationStructure scene : register(t0);
RWTexture2D<float4> image : register(u0);
cbuffer View : register(b1) { float4 origin; };
cbuffer Local : register(b0, space1) { float4 tint; };

[shader("raygeneration")]
void generate() {
    RayDesc ray = { origin.xyz, 0.01, float3(0, 0, 1), 1000 };
    Payload payload;
    payload.colour = 0;
    payload.depth = 0;
    TraceRay(scene, RAY_FLAG_NONE, 0xff, 0, 1, 0, ray, payload);
    image[DispatchRaysIndex().xy] = payload.colour + payload.depth;
}

[shader("closesthit")]
void closest(inout Payload payload, in Attributes attributes) {
    payload.colour = tint * attributes.barycentrics.x;
    payload.depth = RayTCurrent();
}

[shader("anyhit")]
void any(inout Payload payload, in Attributes attributes) {
    payload.colour += attributes.barycentrics.y;
    if (payload.colour.x > 1) IgnoreHit();
}

[shader("intersection")]
void intersect() {
    Attributes attributes = { float2(0, 1) };
    ReportHit(1, 0, attributes);
}

[shader("miss")]
void missed(inout Payload payload) { payload.colour = origin; }

[shader("callable")]
void call(inout Payload payload) { payload.colour *= 2; }

export float4 helper(float4 x) { return x * origin; }
