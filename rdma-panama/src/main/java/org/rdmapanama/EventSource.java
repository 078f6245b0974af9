package org.rdmapanama;

import org.rdmapanama.event.AsyncEvent;

/** What an {@link AsyncEvent asynchronous event} is about, for a {@code switch} over its classes. */
public sealed interface EventSource permits Context, QueuePair, CompletionQueue, SharedReceiveQueue, WorkQueue {}
