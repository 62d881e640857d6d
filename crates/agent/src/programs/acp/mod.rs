//! Any program that speaks the Agent Client Protocol.

mod answer;
mod launch;
mod stream;

use crate::{
    adapter::{Adapter, CallGuard, Capability, Dialect},
    answer::{Answer, Unanswerable},
    launch::{Launch, Order},
    product::Product,
    programs::{AgentProgram, BUILT_IN},
    stream::{Ask, Listener},
};
use serde_json::Value;
use waypost_model::permission::Want;

pub(super) static PROGRAM: AgentProgram =
    AgentProgram { adapters: &[Adapter::ACP], ..AgentProgram::UNKNOWN };

impl Adapter {
    /// Any program that speaks the Agent Client Protocol.
    pub const ACP: Self = Self::of(&Acp);
}

#[derive(Debug)]
struct Acp;

impl Dialect for Acp {
    fn word(&self) -> &'static str {
        "acp"
    }

    fn capabilities(&self) -> &'static [Capability] {
        &[Capability::Asks, Capability::NamesConversationFirst, Capability::AsksForAll]
    }

    fn call_guard(&self) -> CallGuard {
        CallGuard::Requests
    }

    fn variables(&self) -> &'static [&'static str] {
        &[
            "GEMINI_API_KEY",
            "GEMINI_CLI_HOME",
            "GEMINI_MODEL",
            "GEMINI_TELEMETRY_ENABLED",
            "GOOGLE_API_KEY",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "GOOGLE_CLOUD_LOCATION",
            "GOOGLE_CLOUD_PROJECT",
            "GOOGLE_GEMINI_BASE_URL",
            "GOOGLE_GENAI_USE_VERTEXAI",
        ]
    }

    fn product(&self, command: &[String]) -> Option<Product> {
        Product::from_word(BUILT_IN.recognise(command.iter().map(String::as_str))?)
    }

    fn launch(&self, order: &Order) -> Launch {
        launch::launch(order)
    }

    fn fresh(&self, folder: &str) -> Option<String> {
        Some(launch::fresh(folder))
    }

    fn listener(&self) -> Box<dyn Listener> {
        Box::<stream::AcpStream>::default()
    }

    fn ask(&self, line: &Value, raw: &str) -> Option<Ask> {
        stream::ask(line, raw)
    }

    fn message(&self, session: &str, number: u32, text: &str) -> Option<String> {
        Some(answer::message(session, number, text))
    }

    fn interrupt(&self, session: &str, _turn: Option<&str>, _number: u32) -> Option<String> {
        Some(answer::interrupt(session))
    }

    fn answer_line(&self, ask: &Ask, line: &Value, given: &Answer) -> Result<String, Unanswerable> {
        answer::answer(ask, line, given)
    }

    fn want(&self, _ask: &Ask, line: &Value) -> Want {
        answer::want(line)
    }
}
