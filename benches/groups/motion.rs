//! A step of particles that fall and bounce, as its compiled form would be listed: a thread has an element of two rows,
//! and loads and stores all of it.

pub const THREADS: u32 = 64;

/// `cb0[0]` is the step's length, what is left of a velocity, what is added to its second component, and the ground.
pub const TEXT: &str = "cs_5_0
    dcl_constantbuffer CB0[1], immediateIndexed
    dcl_resource_structured t0, 32
    dcl_uav_structured u0, 32
    dcl_input vThreadID.x
    dcl_thread_group 64, 1, 1
    ld_structured r0.xyzw, vThreadID.x, l(0), t0.xyzw
    ld_structured r1.xyzw, vThreadID.x, l(16), t0.xyzw
    mul r1.xyz, r1.xyzx, cb0[0].yyyy
    add r1.y, r1.y, cb0[0].z
    mul r2.xyz, r1.xyzx, cb0[0].xxxx
    add r0.xyz, r0.xyzx, r2.xyzx
    lt r2.x, r0.y, cb0[0].w
    movc r1.y, r2.x, -r1.y, r1.y
    max r0.y, r0.y, cb0[0].w
    add r1.w, r1.w, cb0[0].x
    store_structured u0.xyzw, vThreadID.x, l(0), r0.xyzw
    store_structured u0.xyzw, vThreadID.x, l(16), r1.xyzw";
