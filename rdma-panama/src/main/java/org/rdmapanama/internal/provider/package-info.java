/**
 * The line between the object model and whatever implements verbs below it.
 *
 * <p>Above the line are the classes of {@code org.rdmapanama}; below it is libibverbs, or software that behaves like
 * it. What crosses is the C structures of {@code verbs.h}, by address, and one convention for results: zero or a
 * positive value is success, a negative value is a negated errno. Nothing above the line knows which implementation
 * it talks to.
 */
package org.rdmapanama.internal.provider;
