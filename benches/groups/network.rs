//! A bitonic sort of 512 keys a group, as its compiled form would be listed: two keys a thread in shared memory, a
//! barrier before each exchange.

pub const THREADS: u32 = 256;

pub const TEXT: &str = "cs_5_0
    dcl_resource_structured t0, 4
    dcl_uav_structured u0, 4
    dcl_input vThreadIDInGroupFlattened
    dcl_input vThreadGroupID.x
    dcl_tgsm_structured g0, 4, 512
    dcl_thread_group 256, 1, 1
    imad r0.x, vThreadGroupID.x, l(512), vThreadIDInGroupFlattened.x
    iadd r0.y, r0.x, l(256)
    iadd r0.z, vThreadIDInGroupFlattened.x, l(256)
    ld_structured r1.x, r0.x, l(0), t0.xxxx
    ld_structured r1.y, r0.y, l(0), t0.xxxx
    store_structured g0.x, vThreadIDInGroupFlattened.x, l(0), r1.x
    store_structured g0.x, r0.z, l(0), r1.y
    mov r2.x, l(2)
    loop
      ult r2.y, l(512), r2.x
      breakc_nz r2.y
      ushr r2.y, r2.x, l(1)
      loop
        breakc_z r2.y
        sync_g_t
        iadd r3.x, r2.y, l(-1)
        and r3.x, vThreadIDInGroupFlattened.x, r3.x
        ishl r3.y, vThreadIDInGroupFlattened.x, l(1)
        iadd r3.x, r3.y, -r3.x
        iadd r3.y, r3.x, r2.y
        ld_structured r4.x, r3.x, l(0), g0.xxxx
        ld_structured r4.y, r3.y, l(0), g0.xxxx
        umin r4.z, r4.x, r4.y
        umax r4.w, r4.x, r4.y
        and r3.z, r3.x, r2.x
        movc r4.xy, r3.zzzz, r4.wzww, r4.zwzz
        store_structured g0.x, r3.x, l(0), r4.x
        store_structured g0.x, r3.y, l(0), r4.y
        ushr r2.y, r2.y, l(1)
      endloop
      ishl r2.x, r2.x, l(1)
    endloop
    sync_g_t
    ld_structured r1.x, vThreadIDInGroupFlattened.x, l(0), g0.xxxx
    ld_structured r1.y, r0.z, l(0), g0.xxxx
    store_structured u0.x, r0.x, l(0), r1.x
    store_structured u0.x, r0.y, l(0), r1.y";
