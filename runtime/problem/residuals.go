package problem

// Residuals of the KKT conditions, absolute, in the max norm.
type Residuals struct {
	Stationarity    float64 `json:"stationarity"`    // |grad_y g - B' lambda|
	Primal          float64 `json:"primal"`          // max(h_i, 0), |h_i| of equalities
	Dual            float64 `json:"dual"`            // max(-lambda_i, 0) of inequalities
	Complementarity float64 `json:"complementarity"` // |lambda_i h_i| of inequalities
}
