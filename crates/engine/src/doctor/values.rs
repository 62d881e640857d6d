//! Whether values that people gave to tasks can still be opened.

use super::{Doctor, Finding};
use waypost_store::{
    journal::{Journals, Mode},
    vault::{Vault, VaultHealth},
};

pub(super) fn examine(doctor: &Doctor<'_>) -> Option<Finding> {
    let journal = Journals::of(&doctor.place).open(Mode::ReadWrite).ok()?;
    let vault = Vault::of(&doctor.place, journal.id(), doctor.home.state.as_deref()?);
    Some(match vault.examine() {
        Ok(VaultHealth::Empty) => return None,
        Ok(VaultHealth::Good { values: 1 }) => Finding::good("values", "1 value, it opens"),
        Ok(VaultHealth::Good { values }) => {
            Finding::good("values", format!("{values} values, all of them open"))
        }
        Ok(VaultHealth::Locked { values, tasks }) => {
            let text =
                format!("{values} of {} cannot be opened: their key is lost", tasks.join(", "));
            let remedy = "bring ~/.local/state/waypost/values.key back from a backup, or give the \
                          values again when they are asked for";
            Finding { remedy: Some(remedy.to_owned()), ..Finding::bad("values", text) }
        }
        Ok(VaultHealth::Exposed { key }) => {
            let text = format!("other users may read {}", key.display());
            let remedy = format!("chmod 600 {}, and change the values", key.display());
            Finding { remedy: Some(remedy), ..Finding::bad("values", text) }
        }
        Err(error) => Finding::bad("values", error.to_string()),
    })
}
