package org.rdmapanama.event;

/**
 * What an {@link EventLoop} can wait for: a {@link org.rdmapanama.CompletionChannel}, the asynchronous events of a {@link
 * org.rdmapanama.Context}, or the event channel of a connection manager. Programs do not implement this.
 */
public interface Waitable {}
