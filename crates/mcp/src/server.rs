//! The server: requests of the protocol become calls of the desk, each in a thread.

use crate::{
    answers,
    call::{Call, End},
    desk::{Desk, ToolFailure},
    lines::{BoundedLines, LINE_SIZE_MAX, MALFORMED, TOO_LARGE},
    notices,
    outlet::Outlet,
};
use rmcp::{
    ErrorData, Peer, RoleServer, ServerHandler, ServiceExt as _,
    model::{
        CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, ErrorCode,
        GetPromptRequestParams, GetPromptResponse, GetPromptResult, Implementation,
        ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
        PaginatedRequestParams, ProgressNotificationParam, ProgressToken, PromptMessage,
        ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Role,
        ServerCapabilities, ServerConfig,
    },
    service::{NotificationContext, RequestContext},
};
use serde_json::{Map, Value};
use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    runtime::Builder,
    sync::{Semaphore, mpsc},
    task::{self, JoinHandle},
};

/// Calls that are worked on at once; others wait for their turn. Most of them wait for a person.
const CALLS_MAX: usize = 32;

/// Words about one call that its client has not taken yet.
const PROGRESS_WAITING_MAX: usize = 16;

/// Methods whose parameters may have a form that does not fit.
const METHODS_WITH_PARAMETERS: [&str; 7] = [
    "initialize",
    "tools/call",
    "tools/list",
    "resources/list",
    "resources/read",
    "prompts/list",
    "prompts/get",
];

/// How long answers may take to go out after the client has closed its side.
const FAREWELL: Duration = Duration::from_secs(1);

/// Why a server could not begin, or ended before its client did.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("cannot start the threads of the server")]
    Runtime(#[source] io::Error),
    #[error("the client did not begin as the protocol has it: {detail}")]
    NotBegun { detail: String },
}

/// Serves one client at standard input and output until it is gone.
pub fn serve(desk: Arc<dyn Desk>) -> Result<(), ServeError> {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(CALLS_MAX + 8)
        .enable_io()
        .enable_time()
        .build()
        .map_err(ServeError::Runtime)?;
    let served = runtime.block_on(attend(desk));
    // Calls that still wait know that it is over; none of them holds the process.
    runtime.shutdown_timeout(FAREWELL);
    served
}

async fn attend(desk: Arc<dyn Desk>) -> Result<(), ServeError> {
    let handler =
        Handler { desk, turns: Arc::new(Semaphore::new(CALLS_MAX)), watcher: Mutex::new(None) };
    let streams = (BoundedLines::new(tokio::io::stdin()), Outlet::new(tokio::io::stdout()));
    match handler.serve(streams).await {
        Ok(service) => {
            let _how = service.waiting().await;
            Ok(())
        }
        Err(error) => Err(ServeError::NotBegun { detail: error.to_string() }),
    }
}

struct Handler {
    desk: Arc<dyn Desk>,
    turns: Arc<Semaphore>,
    /// Looks at the documents while the client is there.
    watcher: Mutex<Option<JoinHandle<()>>>,
}

impl Drop for Handler {
    fn drop(&mut self) {
        let watcher = self.watcher.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(watcher) = watcher.take() {
            watcher.abort();
        }
    }
}

impl Handler {
    /// Works at the desk in a thread of its own. A panic there is an error of this call alone.
    async fn at_desk<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn Desk) -> T + Send + 'static,
    ) -> Result<T, ErrorData> {
        let desk = Arc::clone(&self.desk);
        let _turn = self.turns.acquire().await;
        task::spawn_blocking(move || work(&*desk))
            .await
            .map_err(|_| ErrorData::internal_error("this is a bug in waypost", None))
    }
}

/// Whatever way the future of a call ends, its thread learns of it.
struct RingAtEnd(Arc<End>);

impl Drop for RingAtEnd {
    fn drop(&mut self) {
        self.0.ring();
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let about = self.desk.about();
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_prompts()
            .enable_resources()
            .enable_resources_list_changed()
            .build();
        let who = Implementation::new(about.name, about.version).with_title(about.title);
        ServerConfig::new(capabilities).with_server_info(who).with_instructions(about.instructions)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let watch = notices::watch(Arc::clone(&self.desk), context.peer);
        let mut watcher = self.watcher.lock().unwrap_or_else(PoisonError::into_inner);
        watcher.get_or_insert_with(|| task::spawn(watch));
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.desk.tools().iter().map(answers::tool).collect();
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = request.name.into_owned();
        if !self.desk.tools().iter().any(|tool| tool.name == name) {
            let names: Vec<&str> = self.desk.tools().iter().map(|tool| tool.name).collect();
            let message = format!("there is no tool `{name}`; there are: {}", names.join(", "));
            return Err(ErrorData::invalid_params(message, None));
        }
        let end = Arc::new(End::default());
        let _ring = RingAtEnd(Arc::clone(&end));
        let token = context.meta.get_progress_token();
        let (progress, telling) =
            token.map(|token| tell_progress(context.peer.clone(), token)).unzip();
        let client = context.client_info().map(|client| client.name).unwrap_or_default();
        let call = Call::new(end, progress, client);
        let arguments = request.arguments.unwrap_or_default();
        let work = self.at_desk(move |desk| desk.call(&name, arguments, &call));
        let done = tokio::select! {
            done = work => done?,
            () = context.ct.cancelled() => {
                let message = "the client has cancelled the call".to_owned();
                return Err(ErrorData::internal_error(message, None));
            }
        };
        // After the answer a client listens for nothing more about the call.
        if let Some(telling) = telling {
            let _all_told = telling.await;
        }
        let told = done.map_or_else(answers::failure, answers::result);
        Ok(CallToolResponse::from(told))
    }

    async fn list_resources(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let found = self.at_desk(|desk| desk.resources()).await?.map_err(protocol_error)?;
        let resources = found.into_iter().map(answers::resource).collect();
        Ok(ListResourcesResult::with_all_items(resources))
    }

    async fn list_resource_templates(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates = self.desk.templates().iter().map(answers::template).collect();
        Ok(ListResourceTemplatesResult::with_all_items(templates))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri.clone();
        let found = self.at_desk(move |desk| desk.read(&uri)).await?.map_err(protocol_error)?;
        let Some(text) = found else {
            let message = format!("there is no document at {}", request.uri);
            return Err(ErrorData::resource_not_found(message, None));
        };
        Ok(ReadResourceResult::new(vec![answers::contents(text)]).into())
    }

    async fn list_prompts(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let prompts = self.desk.prompts().iter().map(answers::prompt).collect();
        Ok(ListPromptsResult::with_all_items(prompts))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments: Map<String, Value> = request.arguments.unwrap_or_default();
        let name = request.name;
        let filled = self.at_desk(move |desk| desk.prompt(&name, &arguments)).await?;
        let text = filled.map_err(|message| ErrorData::invalid_params(message, None))?;
        let message = PromptMessage::new_text(Role::User, text);
        Ok(GetPromptResult::new(vec![message]).into())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method;
        Err(match method.as_str() {
            TOO_LARGE => {
                let message =
                    format!("a message may have {LINE_SIZE_MAX} bytes, this one had more");
                ErrorData::invalid_request(message, None)
            }
            MALFORMED => {
                let message = "a request has `jsonrpc` \"2.0\", a `method` that is text, and \
                               `params` that are an object";
                ErrorData::invalid_request(message, None)
            }
            // The library takes a request for an unknown one when its parameters do not fit.
            known if METHODS_WITH_PARAMETERS.contains(&known) => {
                let message = format!("the parameters of `{known}` do not have the form it needs");
                ErrorData::invalid_params(message, None)
            }
            unknown => {
                let message = format!("there is no method `{unknown}`");
                ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None)
            }
        })
    }
}

/// Hands words about a call on to its client, numbered as the protocol wants it. It comes to its end when no
/// one can say more.
fn tell_progress(
    peer: Peer<RoleServer>,
    token: ProgressToken,
) -> (mpsc::Sender<String>, JoinHandle<()>) {
    let (sender, mut words) = mpsc::channel::<String>(PROGRESS_WAITING_MAX);
    let telling = task::spawn(async move {
        let mut number = 0.0;
        while let Some(message) = words.recv().await {
            number += 1.0;
            let told = ProgressNotificationParam::new(token.clone(), number).with_message(message);
            if peer.notify_progress(told).await.is_err() {
                return;
            }
        }
    });
    (sender, telling)
}

fn protocol_error(failure: ToolFailure) -> ErrorData {
    ErrorData::internal_error(failure.text, Some(Value::Object(failure.data)))
}
