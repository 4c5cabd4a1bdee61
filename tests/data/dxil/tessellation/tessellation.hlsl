// Hull and domain shader of one patch.
struct Point { float3 position : POSITION; float2 uv : TEXCOORD0; };
struct Factors { float edges[3] : SV_TessFactor; float inside : SV_InsideTessFactor; float4 tint[2] : TINT; };

Factors constants(InputPatch<Point, 3> patch, uint id : SV_PrimitiveID, uint view : SV_ViewID) {
    Factors factors;
    factors.edges[0] = patch[0].position.x;
    factors.edges[1] = patch[1].position.y;
    factors.edges[2] = (float)(id + view);
    factors.inside = 3;
    factors.tint[0] = patch[2].uv.xyxy;
    factors.tint[1] = 1;
    return factors;
}

[domain("tri")]
[partitioning("fractional_odd")]
[outputtopology("triangle_cw")]
[outputcontrolpoints(3)]
[patchconstantfunc("constants")]
Point hull(InputPatch<Point, 3> patch, uint i : SV_OutputControlPointID) { return patch[i]; }

struct Output { float4 position : SV_Position; float4 tint : TINT; };

[domain("tri")]
Output domain(Factors factors, float3 at : SV_DomainLocation, const OutputPatch<Point, 3> patch) {
    Output output;
    output.position = float4(patch[0].position * at.x + patch[1].position * at.y + patch[2].position * at.z, 1);
    output.tint = factors.tint[0] + factors.tint[1] * at.x;
    return output;
}
