package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.function.Executable;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.testing.LabDevices;

/** Checks how verbs fail that Soft-RoCE does not have, nor mostly {@code soft0}. */
final class Unsupported {
    private Unsupported() {}

    /**
     * A call must really reach the driver, and say that it is not supported, by which device, and what to look for.
     *
     * @param verb the C function, written out: docs/VERBS.md is made of these calls
     */
    static UnsupportedVerbException verb(String verb, Executable call) {
        LabDevices.assumeOurs("it may have " + verb);
        UnsupportedVerbException thrown = assertThrows(UnsupportedVerbException.class, call, verb);
        assertEquals(verb, thrown.verb());
        assertEquals(LabDevices.first().name(), thrown.device());
        assertTrue(thrown.errno() == Errno.EOPNOTSUPP || thrown.errno() == Errno.ENOSYS, thrown::toString);
        assertFalse(thrown.capability().isBlank());
        assertTrue(thrown.getMessage().contains(thrown.capability()), thrown::getMessage);
        return thrown;
    }

    /**
     * A verb that ends an object fails with a {@link VerbsException}, as every failure of closing is one: it must really
     * have reached the driver as well.
     *
     * @param verb the C function, written out: docs/VERBS.md is made of these calls
     */
    static void reached(String verb, VerbsException failure) {
        LabDevices.assumeOurs("it may have " + verb);
        assertEquals(verb, failure.verb());
        assertTrue(failure.errno() == Errno.EOPNOTSUPP || failure.errno() == Errno.ENOSYS, failure::toString);
    }
}
