package org.rdmapanama.testing;

import static org.junit.jupiter.api.Assertions.assertFalse;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodType;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Signatures written by hand, where an address is a long, and those that jextract read off a header. */
public final class Signatures {
    private Signatures() {}

    /**
     * A method handle for a C function.
     *
     * @param name the name of the field that has it
     * @param type its signature
     */
    public record Handle(String name, MethodType type) {
        /** The C function without its prefix: the name in small letters. */
        public String function() {
            return name.toLowerCase(Locale.ROOT);
        }

        /** What the C function takes: a segment in front is for errno, or the address of the function. */
        public MethodType ofFunction() {
            return withoutSegment(type);
        }

        /** The name, which names a test. */
        @Override
        public String toString() {
            return name;
        }
    }

    /** Returns the method handles in the fields of a class, at least one. */
    public static List<Handle> handlesOf(Class<?> owner) throws IllegalAccessException {
        List<Handle> handles = new ArrayList<>();
        for (Field field : owner.getDeclaredFields()) {
            if (field.getType() == MethodHandle.class) {
                field.setAccessible(true);
                handles.add(new Handle(field.getName(), ((MethodHandle) field.get(null)).type()));
            }
        }
        assertFalse(handles.isEmpty(), owner + " has no method handles");
        return handles;
    }

    /** Leaves a segment in front out. */
    public static MethodType withoutSegment(MethodType type) {
        return type.parameterCount() > 0 && type.parameterType(0) == MemorySegment.class
                ? type.dropParameterTypes(0, 1)
                : type;
    }

    /** Returns what a handle for a signature takes and returns when addresses are longs. */
    public static MethodType withLongs(FunctionDescriptor generated) {
        MethodType type = generated.toMethodType();
        for (int i = 0; i < type.parameterCount(); i++) {
            if (type.parameterType(i) == MemorySegment.class) {
                type = type.changeParameterType(i, long.class);
            }
        }
        return type.returnType() == MemorySegment.class ? type.changeReturnType(long.class) : type;
    }

    /** Returns the signature of a function of a header, with longs. */
    public static MethodType ofHeader(Class<?> header, String function) throws ReflectiveOperationException {
        Method method;
        try {
            method = header.getMethod(function + "$descriptor");
        } catch (NoSuchMethodException e) {
            // Functions behind a macro or an inline function have a leading underscore.
            method = header.getMethod("_" + function + "$descriptor");
        }
        return withLongs((FunctionDescriptor) method.invoke(null));
    }

    /** Returns the signature of a function pointer of a struct, with longs. */
    public static MethodType ofMember(Class<?> struct, String member) throws ReflectiveOperationException {
        Class<?> function = Class.forName(struct.getName() + "$" + member);
        return withLongs((FunctionDescriptor) function.getMethod("descriptor").invoke(null));
    }
}
