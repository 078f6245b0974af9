package org.rdmapanama.ffm;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** The C functions that a test shows to work on a real device; see {@link FunctionTable}. */
@Retention(RetentionPolicy.SOURCE)
@Target(ElementType.METHOD)
public @interface Shows {
    /** C names. */
    String[] value();

    /**
     * Whether a function of the test takes the driver's place, because no driver at hand has one: this library's side of
     * the call is what is shown then.
     */
    boolean standIn() default false;
}
