//! The rules of the [table of ops](crate::op) for each type that an instruction can be of, worked out: what builds and
//! checks instructions asks for them all the time.

use crate::function::Operands;
use crate::op::{Attribute, Op, TypeRule};
use crate::types::Type;

/// The types in instructions of one op and type.
#[derive(Clone, Copy)]
pub struct Signature {
    /// Whether the op can be of that type.
    pub is_allowed: bool,
    /// The type that such an instruction has, if the op leaves no choice.
    pub ty: Type,
    /// The operand that has the type of the instruction where the op leaves a choice, if any has.
    pub chooser: Option<u8>,
    /// Number of operands.
    pub operands: u8,
    /// Their types.
    pub types: [Type; Operands::MAX],
    /// The type of the result, if there is one.
    pub result: Option<Type>,
    /// Whether it is expanded before a back end sees it.
    pub is_composite: bool,
    /// Whether only functions in lockstep form have it.
    pub is_of_lockstep: bool,
    /// Whether only batch programs have it.
    pub is_of_batch: bool,
}

impl Signature {
    /// That of an op in an instruction of a type.
    #[inline]
    pub fn of(op: Op, ty: Type) -> &'static Signature {
        static ALL: [[Signature; Type::ALL.len()]; Op::ALL.len()] = {
            let mut all = [[Signature::find(Op::Const, Type::I32); Type::ALL.len()]; Op::ALL.len()];
            let mut op = 0;
            while op < all.len() {
                let mut ty = 0;
                while ty < Type::ALL.len() {
                    all[op][ty] = Signature::find(Op::ALL[op], Type::ALL[ty]);
                    ty += 1;
                }
                op += 1;
            }
            all
        };
        &ALL[op as usize][ty as usize]
    }

    const fn find(op: Op, ty: Type) -> Signature {
        let rules = op.operands();
        let is_typed = op.has_choice();
        let inst_type = if is_typed || matches!(ty, Type::Row) && op.takes_rows() { ty } else { op.untyped() };
        let mut is_allowed = inst_type as u8 == ty as u8;
        if is_typed && op.result().is_set() {
            is_allowed = op.result().allows(ty);
        }
        let (mut chooser, mut types, mut at) = (None, [Type::I32; Operands::MAX], 0);
        while at < rules.len() {
            let has_choice = rules[at].is_set() || matches!(rules[at], TypeRule::Float);
            if has_choice && chooser.is_none() {
                chooser = Some(at as u8);
            }
            is_allowed &= !(is_typed && rules[at].is_set()) || rules[at].allows(ty);
            types[at] = type_of(rules[at], ty);
            at += 1;
        }
        let result = if let TypeRule::Nothing = op.result() { None } else { Some(type_of(op.result(), ty)) };
        Signature {
            is_allowed,
            ty: inst_type,
            chooser,
            operands: rules.len() as u8,
            types,
            result,
            is_composite: matches!(op.attribute(), Attribute::Composite),
            is_of_lockstep: op.is_of_lockstep(),
            is_of_batch: op.is_of_batch(ty),
        }
    }
}

/// The type that a rule gives in an instruction of type `ty`; any type where it gives none.
const fn type_of(rule: TypeRule, ty: Type) -> Type {
    match rule.of_inst(ty) {
        Some(ty) => ty,
        None => ty,
    }
}
