// One input, one output, one constant buffer: compiled for validators of several versions.
cbuffer Scale : register(b0) { float2 scale; };

float4 main(float4 position : POSITION) : SV_Position { return position * scale.xyxy; }
