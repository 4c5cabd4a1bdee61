// A geometry shader with two point streams that depend on the view.
struct Vertex { float4 position : SV_Position; float2 uv : TEXCOORD0; };
struct Side { float3 normal : NORMAL; uint layer : LAYER; };

[maxvertexcount(6)]
void main(line Vertex input[2], inout PointStream<Vertex> first, inout PointStream<Side> second, uint view : SV_ViewID) {
    for (uint i = 0; i < 2; i++) {
        Vertex v = input[i];
        v.position.y += (float)view;
        first.Append(v);
        Side side;
        side.normal = input[i].position.xyz;
        side.layer = view;
        second.Append(side);
    }
}
