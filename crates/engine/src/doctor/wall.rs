//! How far the wall reaches, by a try.

use super::{Doctor, Finding, Health};
use crate::environment::Environment;
use crate::{project::ProjectSetup, wall};
use waypost_wall::{Level, PACKAGE};

pub(super) fn examine(doctor: &Doctor<'_>) -> Finding {
    let found = wall::examine();
    let setup = ProjectSetup::find(doctor.start, &Environment::of_this_process());
    let required = setup.map(|it| it.configuration().values.wall.require).unwrap_or_default();
    let shortfall = wall::shortfall(found.level, required);
    let mut text = format!("level {}: {}", found.level, wall::meaning(found.level));
    if let Some(shortfall) = &shortfall {
        text = format!("{text}; {shortfall}");
    }
    let verdict = match (shortfall, found.level) {
        (Some(_), _) => Health::Bad,
        (None, Level::A | Level::B) => Health::Good,
        (None, Level::C | Level::None) => Health::Note,
    };
    let remedy = found.obstacle.map(|obstacle| match obstacle.contains("not on the path") {
        true => format!("`apt-get install {PACKAGE}`, or its like elsewhere: {obstacle}"),
        false => obstacle,
    });
    Finding { subject: "wall", verdict, text, remedy, next: Vec::new(), repair: None }
}
