"""How do I freeze single weights of a Keras layer? With compile and fit, as in the question.

It runs on TensorFlow 1.15 to the newest, with whatever Keras that TensorFlow has.
"""

import numpy as np
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Sequential

import freezecompat as fc

model = Sequential()
model.add(Dense(4, input_shape=(4,), activation="relu"))
model.add(Dense(3, name="hidden", activation="relu"))
model.add(Dense(2, activation="sigmoid"))
model.compile(loss="mse", optimizer="adam")

# The matrix that the question prints
kernel = np.array(
    [
        [-0.05557871, 0.10941017, -0.59108734],
        [0.37056673, 0.2968588, 0.14362943],
        [-0.05471832, -0.21425706, 0.6455065],
        [-0.7883829, -0.23868048, -0.517396],
    ],
    dtype=np.float32,
)
model.layers[0].set_weights([np.eye(4), np.full(4, 0.5)])  # every unit of the layer below is active
model.layers[1].set_weights([kernel, np.ones(3)])

# 2nd row, 3rd column (0.14362943) and 4th row, 2nd column (-0.23868048)
frozen = fc.freeze(model, {"hidden/kernel": [(1, 2), (3, 1)]})

np.random.seed(0)
x_train = np.random.rand(100, 4)
y_train = np.random.rand(100, 2)
model.fit(x_train, y_train, epochs=10, batch_size=10, verbose=0)

trained = model.get_layer("hidden").get_weights()[0]
print("Kernel of the hidden layer after training:\n", trained)
print(frozen.report())

assert trained[1, 2] == kernel[1, 2] and trained[3, 1] == kernel[3, 1]
assert np.argwhere(trained == kernel).tolist() == [[1, 2], [3, 1]], "every other element has been trained"
frozen.verify()
