//! What a desk says, in the words of the protocol.

use crate::desk::{
    PromptSpec, ResourceSpec, ResourceText, TemplateSpec, ToolFailure, ToolResult, ToolSpec,
};
use rmcp::model::{
    CallToolResult, ContentBlock, Prompt, PromptArgument, Resource, ResourceContents,
    ResourceTemplate, Tool, ToolAnnotations,
};
use serde_json::Value;
use std::sync::Arc;

pub(crate) fn tool(spec: &ToolSpec) -> Tool {
    let annotations = ToolAnnotations::with_title(spec.title)
        .read_only(spec.is_reading)
        .destructive(false)
        .idempotent(spec.is_repeatable)
        .open_world(false);
    Tool::new(spec.name, spec.description, Arc::new(spec.input.clone()))
        .with_title(spec.title)
        .with_raw_output_schema(Arc::new(spec.output.clone()))
        .with_annotations(annotations)
}

/// Programs that know structured results read those, others the same as text; remarks are text.
pub(crate) fn result(result: ToolResult) -> CallToolResult {
    let mut told = CallToolResult::structured(Value::Object(result.data));
    told.content.extend(result.remarks.into_iter().map(ContentBlock::text));
    told
}

/// An error that the model reads. Its object is in the text as well: an output schema is about success.
pub(crate) fn failure(failure: ToolFailure) -> CallToolResult {
    let data = Value::Object(failure.data).to_string();
    CallToolResult::error(vec![ContentBlock::text(failure.text), ContentBlock::text(data)])
}

pub(crate) fn resource(spec: ResourceSpec) -> Resource {
    let resource =
        Resource::new(spec.uri, spec.name).with_title(spec.title).with_mime_type(spec.media_type);
    match spec.size {
        Some(size) => resource.with_size(size),
        None => resource,
    }
}

pub(crate) fn template(spec: &TemplateSpec) -> ResourceTemplate {
    ResourceTemplate::new(spec.uri_template, spec.name)
        .with_description(spec.description)
        .with_mime_type(spec.media_type)
}

pub(crate) fn contents(text: ResourceText) -> ResourceContents {
    ResourceContents::text(text.text, text.uri).with_mime_type(text.media_type)
}

pub(crate) fn prompt(spec: &PromptSpec) -> Prompt {
    let arguments = spec.arguments.iter().map(|argument| {
        PromptArgument::new(argument.name)
            .with_description(argument.description)
            .with_required(argument.is_required)
    });
    Prompt::new(spec.name, Some(spec.description.clone()), Some(arguments.collect()))
}
