//! Interface calls: the functions of the class instances that are bound when the program is compiled.
//!
//! An interface slot stands for an instance. Its class has a function table, of which a call takes the function of its
//! place in the program; the slot's data (`this`) say where the instance lies. Both are known here, so that a call is
//! one of a subroutine, or of one among several where the slot is chosen at run time.

use foldhash::{HashMap, HashMapExt};
use std::collections::BTreeMap;

use shaderjit_ir::{Block, FunctionBuilder, Space};

use super::Lowering;
use super::call::Callee;
use super::operand::Place;
use super::registers::{Refusal, limit};
use crate::error::LowerError;
use crate::frontend::sm4::declaration::{Declaration, Interface};
use crate::frontend::sm4::decode::{Body, Program};
use crate::frontend::sm4::operand::{Operand, RegisterFile};
use crate::frontend::{UniformDecl, UniformKind};

/// Most interface slots (Direct3D 11: `D3D11_SHADER_MAX_INTERFACES`).
const MAX_SLOTS: u32 = 253;

/// A class instance bound to an interface slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClassInstance {
    /// The function table that its class has for the slot (`ft#`).
    pub table: u32,
    /// What the program reads of it: constant buffer, first row in it, first texture, first sampler.
    pub data: [u32; 4],
}

/// The interfaces of a program and what is bound to them.
pub(super) struct Classes {
    interfaces: HashMap<u32, Interface>,
    /// The function bodies of each table.
    tables: HashMap<u32, Box<[u32]>>,
    instances: BTreeMap<u32, ClassInstance>,
    /// The instances' data, a row a slot.
    this: Option<Space>,
}

impl Classes {
    /// Reads the declarations; makes the table of the instances' data.
    pub fn new(
        program: &Program,
        instances: &BTreeMap<u32, ClassInstance>,
        uniforms: &mut Vec<UniformDecl>,
        b: &mut FunctionBuilder,
    ) -> Result<Self, LowerError> {
        let (mut interfaces, mut tables) = (HashMap::new(), HashMap::new());
        for instruction in &program.instructions {
            match &instruction.body {
                Body::Declaration(Declaration::Interface(interface)) => {
                    interfaces.insert(interface.id, Interface::clone(interface));
                }
                Body::Declaration(Declaration::FunctionTable { id, bodies }) => {
                    tables.insert(*id, bodies.clone());
                }
                _ => {}
            }
        }
        let mut this = None;
        if let Some((&last, _)) = instances.last_key_value() {
            limit("interface slot", last.into(), u64::from(MAX_SLOTS) - 1)
                .map_err(|refusal| refusal.at(program.offset))?;
            let row = |slot| instances.get(&slot).map_or([0; 4], |instance| instance.data);
            let space = b.add_space("this", Some((0..=last).map(row).collect()));
            uniforms.push(UniformDecl::new(space, UniformKind::Table, last + 1));
            this = Some(space);
        }
        Ok(Classes { interfaces, tables, instances: instances.clone(), this })
    }

    /// What `this` reads.
    pub fn this(&self) -> Option<Space> {
        self.this
    }

    /// The function that a call of slot `slot` at call site `site` of an interface runs.
    fn body(&self, interface: &Interface, slot: u32, site: u32) -> Result<u32, Refusal> {
        let Some(instance) = self.instances.get(&slot) else {
            return Err(Refusal::Unbound { slot });
        };
        let table = instance.table;
        let bodies = self.tables.get(&table).filter(|_| interface.tables.contains(&table));
        let Some(bodies) = bodies else {
            return Err(Refusal::Invalid(format!("ft{table} is no table of fp{}", interface.id)));
        };
        let body = usize::try_from(site).ok().and_then(|site| bodies.get(site).copied());
        body.ok_or_else(|| Refusal::Invalid(format!("ft{table} has no function {site}")))
    }
}

impl Lowering {
    /// Goes on in the function of the instance that is bound; where the slot is dynamic, in those of all that may be
    /// it.
    pub(super) fn interface_call(&mut self, interface: &Operand, site: &Operand) -> Result<(), LowerError> {
        if interface.file() != RegisterFile::Interface {
            return Err(self.invalid("a call of what is no interface"));
        }
        let site = site.immediates().map_or(0, |words| words[0]);
        let [id, place] = self.places(interface)?;
        let Place { base: id, dynamic: None } = id else {
            return Err(self.invalid("a dynamic choice of interface"));
        };
        let Some(declared) = self.classes.interfaces.get(&id) else {
            return Err(self.invalid(format!("fp{id} is not declared")));
        };
        let slots = match place.dynamic {
            None => place.base..place.base.saturating_add(1).min(declared.array_length.into()),
            Some(_) => 0..declared.array_length.into(),
        };
        if slots.is_empty() {
            return Err(self.invalid(format!("fp{id} has no element {}", place.base)));
        }
        // The bodies called, each once, with the elements that call it. What is not bound ends this before it takes
        // long.
        let mut bodies = BTreeMap::<u32, Vec<u32>>::new();
        for element in slots {
            let body = self.classes.body(declared, id.wrapping_add(element), site);
            bodies.entry(body.map_err(|refusal| refusal.at(self.offset))?).or_default().push(element);
        }
        let mut callees = Vec::with_capacity(bodies.len());
        for &body in bodies.keys() {
            callees.push(self.callee(RegisterFile::FunctionBody, body)?);
        }
        let exit = self.b.create_block();
        if place.dynamic.is_none() {
            self.enter(callees[0], exit, Vec::new());
            return Ok(());
        }
        self.cost.add_blocks(callees.len() as u64).map_err(|refusal| refusal.at(self.offset))?;
        let value = self.index_value(place);
        let arms: Vec<(Block, Callee)> = callees.into_iter().map(|callee| (self.b.create_block(), callee)).collect();
        let elements = arms.iter().zip(bodies.values());
        let cases: Vec<(u32, Block)> = elements
            .flat_map(|(&(block, _), elements)| elements.iter().map(move |&element| (element, block)))
            .collect();
        // Elements that the interface does not have call nothing.
        self.b.switch(value, &cases, exit);
        self.flow.live = false;
        self.enter_arms(exit, arms);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontend::Lowered;
    use crate::frontend::sm4::lower::{LowerOptions, lower_with};
    use crate::frontend::sm4::testing::{Setup, assemble, plain_signatures, program, run};

    /// Two interfaces: `fp0`, an array of four with two call sites, and `fp4`. Three tables for the one, one for the
    /// other.
    const DECLARATIONS: &str = "dcl_temps 4
        dcl_constantbuffer cb0[8]
        dcl_constantbuffer cb2[8]
        dcl_function_table 0, 2, 10, 11
        dcl_function_table 1, 2, 12, 13
        dcl_function_table 2, 2, 10, 13
        dcl_function_table 3, 1, 14
        dcl_interface 0, 2, 0x00040003, 0, 1, 2
        dcl_interface 4, 1, 0x00010001, 3";

    const BODIES: &str = "ret
        label fb10
        iadd r0.x, r0.x, l(1)
        ret
        label fb11
        iadd r0.x, r0.x, l(10)
        ret
        label fb12
        retc_nz v0.y
        iadd r0.x, r0.x, l(100)
        ret
        label fb13
        iadd r0.x, r0.x, l(1000)
        ret
        label fb14
        mov r1.xy, this[4].xyxx
        mov r0.yzw, cb[r1.x + 0][r1.y + 1].xxyz
        ret";

    fn lower(text: &str, classes: &[(u32, u32, [u32; 4])]) -> Result<Lowered, LowerError> {
        let program = program(&assemble(&format!("{DECLARATIONS}\n{text}\nmov o0.xyzw, r0.xyzw\n{BODIES}"))).unwrap();
        let classes = classes.iter().map(|&(slot, table, data)| (slot, ClassInstance { table, data })).collect();
        let options = LowerOptions { classes, ..LowerOptions::default() };
        let lowered = lower_with(&program, &plain_signatures(), &options)?;
        shaderjit_ir::verify::verify(&lowered.function).unwrap_or_else(|errors| panic!("{errors:?}"));
        Ok(lowered)
    }

    const BOUND: [(u32, u32, [u32; 4]); 5] =
        [(0, 0, [7, 0, 0, 0]), (1, 1, [8, 0, 0, 0]), (2, 2, [9, 0, 0, 0]), (3, 0, [10, 0, 0, 0]), (4, 3, [2, 5, 0, 0])];

    fn o0(text: &str, v0: [u32; 4]) -> [u32; 4] {
        let lowered = lower(text, &BOUND).unwrap();
        let row = |buffer: u32, row: u32| [buffer, row, 100 * buffer + row, 0];
        let buffers = [0, 2].map(|buffer| (0..8).map(|number| row(buffer, number)).collect::<Vec<_>>());
        let setup = Setup { inputs: &[v0], uniforms: &[&buffers[0], &buffers[1], &[]], ..Setup::default() };
        run(&lowered, &setup).unwrap()[0]
    }

    #[test]
    fn a_slot_calls_the_function_of_its_class_and_site() {
        for (call, result) in [
            ("fp0[0][0]", 1),
            ("fp0[0][1]", 10),
            ("fp0[1][0]", 100),
            ("fp0[1][1]", 1000),
            ("fp0[2][0]", 1),
            ("fp0[2][1]", 1000),
        ] {
            assert_eq!(o0(&format!("fcall {call}"), [0; 4])[0], result, "{call}");
        }
    }

    #[test]
    fn a_dynamic_slot_calls_one_of_the_bound() {
        let text = "fcall fp0[v0.x + 1][0]\niadd r0.x, r0.x, l(5)\nfcall fp0[v0.x + 0][1]";
        for (element, result) in
            [(0, 100 + 5 + 10), (1, 1 + 5 + 1000), (2, 1 + 5 + 1000), (3, 5 + 10), (u32::MAX, 1 + 5)]
        {
            assert_eq!(o0(text, [element, 0, 0, 0])[0], result, "{element}");
        }
        // A return leaves the function alone.
        assert_eq!(o0(text, [0, 1, 0, 0])[0], 15);
    }

    #[test]
    fn functions_read_what_their_instance_holds() {
        assert_eq!(o0("fcall fp4[0][0]", [0; 4]), [0, 2, 6, 206]);
        let text =
            "mov r0.x, this[v0.x + 1].x\nmov r0.y, this[9].x\nmov r0.z, cb[v0.y + 0][3].z\nmov r0.w, cb[v0.z + 0][3].z";
        assert_eq!(o0(text, [2, 2, 1, 0]), [10, 0, 203, 0]);
    }

    #[test]
    fn what_is_not_bound_or_does_not_fit_is_an_error() {
        let refused = |text: &str, classes: &[(u32, u32, [u32; 4])]| {
            lower(text, classes).map(|lowered| lowered.function.to_string()).unwrap_err()
        };
        let unbound = |error| match error {
            LowerError::Unbound { slot, .. } => slot,
            other => panic!("{other:?}"),
        };
        assert_eq!(unbound(refused("fcall fp4[0][0]", &[])), 4);
        assert_eq!(unbound(refused("fcall fp0[v0.x + 0][0]", &BOUND[..2])), 2);
        assert!(lower("fcall fp0[1][0]", &BOUND[1..2]).is_ok(), "others need not be bound");
        let invalid = |text: &str, classes: &[_], rule: &str| match refused(text, classes) {
            LowerError::Invalid { what, .. } => assert!(what.contains(rule), "{what}"),
            other => panic!("{other:?}"),
        };
        invalid("fcall fp1[0][0]", &BOUND, "fp1 is not declared");
        invalid("fcall fp0[4][0]", &BOUND, "no element 4");
        invalid("fcall fp0[0][2]", &BOUND, "ft0 has no function 2");
        invalid("fcall fp4[0][0]", &[(4, 0, [0; 4])], "ft0 is no table of fp4");
        invalid("fcall fp0[0][0]", &[(0, 7, [0; 4])], "ft7 is no table of fp0");
        assert!(matches!(refused("nop", &[(253, 0, [0; 4])]), LowerError::Limit { what: "interface slot", .. }));
        assert!(matches!(refused("mov r0.x, this[0].x", &[]), LowerError::Unsupported { .. }));
    }
}
