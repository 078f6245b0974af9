package org.rdmapanama.internal.provider;

import java.util.function.LongUnaryOperator;

/**
 * A function that creates an object and reads its options from a structure: a verb, or a driver's own function that takes
 * more options than the verb does.
 *
 * @param name its C name
 * @param call takes the address of the structure, and returns the address of the object or a negated errno. Called with
 *     the lock of an arena held
 */
public record DriverFunction(String name, LongUnaryOperator call) {}
