// Compiled with debug information, embedded and apart.
cbuffer Fade : register(b0) { float amount; };

float4 faded(float4 colour, float by) { return float4(colour.rgb, colour.a * by); }

float4 main(float4 colour : COLOR) : SV_Target { return faded(colour, amount * LEVEL); }
