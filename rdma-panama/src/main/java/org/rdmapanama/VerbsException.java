package org.rdmapanama;

import org.jspecify.annotations.Nullable;
import org.rdmapanama.internal.ErrnoText;

/**
 * Thrown when a verb fails.
 *
 * <p>Functions of the connection manager throw a subclass of it.
 *
 * <p>It carries the C function, its errno, its arguments and, if one is known, the cure. The message contains all of
 * them. For verbs that a device does not support there is {@link UnsupportedVerbException}.
 */
public class VerbsException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** The C function that failed. */
    private final String verb;

    /** The reason, as in errno(3). */
    private final int errno;

    /** The arguments of the call. */
    private final String arguments;

    /** What to do about it, or null. */
    private final @Nullable String cure;

    /**
     * Creates an exception for a failed verb.
     *
     * @param verb the C function, such as {@code ibv_reg_mr}
     * @param errno the reason, a positive value of errno(3)
     * @param arguments the arguments of the call, for people to read
     * @param cure what to do about it, or null if that is not known
     */
    protected VerbsException(String verb, int errno, String arguments, @Nullable String cure) {
        this(message(verb, errno, arguments, cure), verb, errno, arguments, cure);
    }

    /** With a message that says more than the name of the errno. */
    VerbsException(String message, String verb, int errno, String arguments, @Nullable String cure) {
        super(message);
        this.verb = verb;
        this.errno = errno;
        this.arguments = arguments;
        this.cure = cure;
    }

    private static String message(String verb, int errno, String arguments, @Nullable String cure) {
        StringBuilder text = new StringBuilder(verb).append(" failed: ").append(ErrnoText.describe(errno));
        if (!arguments.isEmpty()) {
            text.append(" for ").append(arguments);
        }
        if (cure != null) {
            text.append("; ").append(cure);
        }
        return text.toString();
    }

    /** {@return the C name of the verb that failed, such as {@code ibv_reg_mr}} */
    public String verb() {
        return verb;
    }

    /** {@return the positive errno(3) value that the verb reported} */
    public int errno() {
        return errno;
    }

    /** {@return the name of {@link #errno()}, such as {@code ENOMEM}, or its digits if the name is not known} */
    public String errnoName() {
        return ErrnoText.name(errno);
    }

    /** {@return the arguments of the verb, for people to read} */
    public String arguments() {
        return arguments;
    }

    /** {@return what to do about the failure, in one sentence; null if no cure is known} */
    public @Nullable String cure() {
        return cure;
    }
}
