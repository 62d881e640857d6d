//! Proves the command line and the windows with the real binary.
//!
//! One binary for all of it, because each links the whole program. Every test has a folder of its
//! own with its own home, and the environment of the user who runs the tests is kept out.
#![expect(
    clippy::disallowed_methods,
    reason = "tests start the program and play the parts of editors, git and careless users"
)]
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "all of this crate is tests")]

mod actors;
mod agent_gates;
mod agents;
mod agents_at_bad_moments;
mod agents_told;
mod apart;
mod between_runs;
mod broker;
mod budgets;
mod canary;
mod codex_home;
mod completion;
mod configuration;
mod contracts;
mod detach;
mod docs;
mod endings;
mod errors;
mod every_command;
mod execute;
mod exit_codes;
mod faults_many_processes;
mod fence;
mod golden;
mod harness;
mod hook;
mod host;
mod inbox;
mod init;
mod knowledge;
mod live;
mod loose;
mod mcp;
mod memory;
mod night;
mod notify;
mod one_host;
mod other;
mod outbox;
mod output;
mod permissions;
mod pin;
mod printed;
mod proof;
mod ralph;
mod repository;
#[path = "../wall/required.rs"]
mod required;
mod retention;
mod review;
mod search;
mod secrets;
mod server_tasks;
mod serving;
mod serving_left;
mod serving_set_up;
mod serving_settings;
mod serving_told;
mod session;
mod sessions;
mod shop;
mod shortage;
mod sim;
mod sim_agent;
mod story;
mod taken_up;
mod tasks_at_work;
mod terminal;
mod unattended;
mod unavailable;
mod windows;
mod wiring;
mod worktrees;
