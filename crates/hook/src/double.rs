//! A hook that is registered twice, by `waypost init` and by the plugin, is asked twice.
//!
//! Both judge, because either may be gone tomorrow; but only one tells something, writes it down or
//! rewrites a call: the project's own. What an agent could gain by pretending is a line less in the
//! log.

use std::{env, fs::File, io::Read as _, path::Path};
use waypost_agent::{
    hook::Product,
    registration::{Sharing, is_registered},
};

/// More than any settings file that a person has written.
const SIZE_MAX: u64 = 1 << 20;

/// Whether the plugin asks in a project that has the hook in settings of its own.
pub fn is_second<'a>(product: Product, roots: impl IntoIterator<Item = &'a Path>) -> bool {
    let is_plugin = product.plugin_variable().is_some_and(|name| env::var_os(name).is_some());
    let has_own = |root: &Path| {
        [Sharing::Private, Sharing::Shared].into_iter().any(|sharing| {
            let mut text = String::new();
            let file = File::open(root.join(product.settings_file(sharing)));
            let is_read = file.and_then(|it| it.take(SIZE_MAX).read_to_string(&mut text)).is_ok();
            is_read && is_registered(product, &text)
        })
    };
    is_plugin && roots.into_iter().any(has_own)
}
