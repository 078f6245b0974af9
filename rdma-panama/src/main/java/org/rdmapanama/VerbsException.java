package org.rdmapanama;

/**
 * A verb that failed.
 *
 * <p>Functions of the connection manager fail with a class that extends this one.
 *
 * <p>It carries the C function, its errno and its arguments, and, where one is known, the cure. The message holds all
 * of them. What a device does not have is another exception: {@link UnsupportedVerbException}.
 */
public class VerbsException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** The C function that failed. */
    private final String verb;

    /** Why it failed, as in errno(3). */
    private final int errno;

    /** What it was called with. */
    private final String arguments;

    /** What to do about it, or null. */
    private final String cure;

    /**
     * A failed verb.
     *
     * @param verb the C function, such as {@code ibv_reg_mr}
     * @param errno why it failed, a positive value of errno(3)
     * @param arguments what it was called with, for people to read
     * @param cure what to do about it, or null when that is not known
     */
    protected VerbsException(String verb, int errno, String arguments, String cure) {
        super(message(verb, errno, arguments, cure));
        this.verb = verb;
        this.errno = errno;
        this.arguments = arguments;
        this.cure = cure;
    }

    private static String message(String verb, int errno, String arguments, String cure) {
        StringBuilder text = new StringBuilder(verb).append(" failed: ").append(Errno.describe(errno));
        if (!arguments.isEmpty()) {
            text.append(" for ").append(arguments);
        }
        if (cure != null) {
            text.append("; ").append(cure);
        }
        return text.toString();
    }

    /**
     * The verb that failed.
     *
     * @return its C name, such as {@code ibv_reg_mr}
     */
    public String verb() {
        return verb;
    }

    /**
     * Why it failed, as in errno(3).
     *
     * @return a positive number
     */
    public int errno() {
        return errno;
    }

    /**
     * The name of {@link #errno()}, such as {@code ENOMEM}.
     *
     * @return the name, or the number in digits when it has none here
     */
    public String errnoName() {
        return Errno.name(errno);
    }

    /**
     * What the verb was called with.
     *
     * @return text for people
     */
    public String arguments() {
        return arguments;
    }

    /**
     * What to do about it.
     *
     * @return one sentence, or null when no cure is known
     */
    public String cure() {
        return cure;
    }
}
