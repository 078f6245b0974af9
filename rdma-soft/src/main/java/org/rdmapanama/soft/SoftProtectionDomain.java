package org.rdmapanama.soft;

/** A protection domain: it has a number, and users. */
final class SoftProtectionDomain {
    /** Of the C structure. */
    final NativeBlock struct;

    final int number;

    /** How many objects are made in it. */
    int users;

    SoftProtectionDomain(NativeBlock struct, int number) {
        this.struct = struct;
        this.number = number;
    }
}
