//! The shaders, from text.

use crate::support::program::{Element, Source};
use shaderjit::container::dxbc::SystemValue;

/// Position in clip space; position, normal, tangent and texture coordinate as they are.
const OUTPUTS: [Element; 5] = [
    Element::register("SV_Position", 0).value(SystemValue::POSITION),
    Element::register("P", 1).mask(0b0111),
    Element::register("P", 2).mask(0b0111),
    Element::register("P", 3).mask(0b0111),
    Element::register("P", 4).mask(0b0011),
];

pub fn vertex() -> Vec<u8> {
    let inputs = [
        Element::register("V", 0).mask(0b0111),
        Element::register("V", 1).mask(0b0111),
        Element::register("V", 2).mask(0b0111),
        Element::register("V", 3).mask(0b0011),
    ];
    Source::new(
        "vs_5_0
        dcl_constantbuffer CB0[4], immediateIndexed
        dcl_output_siv o0.xyzw, position
        mov r0.xyz, v0.xyzx
        mov r0.w, l(1.0)
        dp4 o0.x, r0.xyzw, cb0[0].xyzw
        dp4 o0.y, r0.xyzw, cb0[1].xyzw
        dp4 o0.z, r0.xyzw, cb0[2].xyzw
        dp4 o0.w, r0.xyzw, cb0[3].xyzw
        mov o1.xyz, v0.xyzx
        mov o2.xyz, v1.xyzx
        mov o3.xyz, v2.xyzx
        mov o4.xy, v3.xyxx",
    )
    .with(&inputs, &OUTPUTS)
    .container()
}

/// Colour and normal from textures, the normal turned into the surface's frame, light from one side, and a highlight.
pub fn lit() -> Vec<u8> {
    let target = [Element::register("SV_Target", 0)];
    Source::new(
        "ps_5_0
        dcl_constantbuffer CB0[2], immediateIndexed
        dcl_sampler s0, mode_default
        dcl_resource_texture2d (float,float,float,float) t0
        dcl_resource_texture2d (float,float,float,float) t1
        dcl_input_ps_siv linear noperspective v0.xyzw, position
        sample r0.xyzw, v4.xyxx, t0.xyzw, s0
        sample r1.xyzw, v4.xyxx, t1.xyzw, s0
        mad r1.xyz, r1.xyzx, l(2.0, 2.0, 2.0, 0.0), l(-1.0, -1.0, -1.0, 0.0)
        dp3 r2.w, v2.xyzx, v2.xyzx
        rsq r2.w, r2.w
        mul r2.xyz, r2.wwww, v2.xyzx
        dp3 r3.w, v3.xyzx, v3.xyzx
        rsq r3.w, r3.w
        mul r3.xyz, r3.wwww, v3.xyzx
        mul r4.xyz, r2.zxyz, r3.yzxy
        mad r4.xyz, r2.yzxy, r3.zxyz, -r4.xyzx
        mul r4.xyz, r4.xyzx, r1.yyyy
        mad r4.xyz, r1.xxxx, r3.xyzx, r4.xyzx
        mad r4.xyz, r1.zzzz, r2.xyzx, r4.xyzx
        dp3 r4.w, r4.xyzx, r4.xyzx
        rsq r4.w, r4.w
        mul r4.xyz, r4.wwww, r4.xyzx
        dp3_sat r5.x, r4.xyzx, cb0[0].xyzx
        add r6.xyz, cb0[1].xyzx, -v1.xyzx
        dp3 r6.w, r6.xyzx, r6.xyzx
        rsq r6.w, r6.w
        mad r6.xyz, r6.xyzx, r6.wwww, cb0[0].xyzx
        dp3 r6.w, r6.xyzx, r6.xyzx
        rsq r6.w, r6.w
        mul r6.xyz, r6.wwww, r6.xyzx
        dp3_sat r5.y, r4.xyzx, r6.xyzx
        log r5.y, r5.y
        mul r5.y, r5.y, l(32.0)
        exp r5.y, r5.y
        mad r5.x, r5.x, l(0.8), l(0.15)
        mad o0.xyz, r0.xyzx, r5.xxxx, r5.yyyy
        mov o0.w, l(1.0)",
    )
    .with(&OUTPUTS, &target)
    .container()
}

/// One colour.
pub fn flat() -> Vec<u8> {
    let target = [Element::register("SV_Target", 0)];
    Source::new("ps_5_0\ndcl_input_ps_siv linear noperspective v0.xyzw, position\nmov o0.xyzw, l(0.2, 0.4, 0.6, 1.0)")
        .with(&OUTPUTS[..1], &target)
        .container()
}
